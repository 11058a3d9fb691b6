/* The account's counts of passes, updated in the commit of every change that moves a pass between counts. */
#include "store/tally.h"

#include "schemas/bytes.h"
#include "schemas/wallet/kind.h"
#include "store/keys.h"

enum {
	AT_COUNTS = 4,
	AT_WIDTH = AT_COUNTS + 4 * (HOT_COUNT_DELETED + 1),
	AT_REGISTRATIONS = AT_WIDTH + 4,
	AT_INSTALLED = AT_REGISTRATIONS + 4,
	TALLY_BYTES = AT_INSTALLED + 4 * (TALLY_WALLETS_END - 1),
	TALLY_BYTES_WITHOUT = AT_REGISTRATIONS /* without wallets */
};
_Static_assert((int)TALLY_WALLETS_END == (int)WALLET_KIND_END, "each kind of wallet has its count");

enum err tally_read(struct span value, struct tally *tally)
{
	*tally = (struct tally){0};
	if (value.size != TALLY_BYTES && value.size != TALLY_BYTES_WITHOUT) return ERR_DAMAGED;
	tally->made = get_le32(value.at);
	for (unsigned i = 0; i <= HOT_COUNT_DELETED; i++)
		tally->counts[i] = get_le32(value.at + AT_COUNTS + 4 * i);
	tally->width = get_le32(value.at + AT_WIDTH);
	if (value.size == TALLY_BYTES_WITHOUT) return OK;
	tally->registrations = get_le32(value.at + AT_REGISTRATIONS);
	for (unsigned kind = 1; kind < TALLY_WALLETS_END; kind++)
		tally->installed[kind] = get_le32(value.at + AT_INSTALLED + 4 * (kind - 1));
	return OK;
}

enum err tally_get(struct view *view, struct account_id account, struct tally *tally)
{
	struct row_key key = key_account(account);
	struct span    value;
	enum err       err = view_get(view, TABLE_TALLY, key_span(&key), &value);
	*tally = (struct tally){0};
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return tally_read(value, tally);
}

enum err tally_put(struct view *view, struct account_id account, const struct tally *tally)
{
	struct row_key key = key_account(account);
	uint8_t        bytes[TALLY_BYTES];
	put_le32(bytes, tally->made);
	for (unsigned i = 0; i <= HOT_COUNT_DELETED; i++)
		put_le32(bytes + AT_COUNTS + 4 * i, tally->counts[i]);
	put_le32(bytes + AT_WIDTH, tally->width);
	put_le32(bytes + AT_REGISTRATIONS, tally->registrations);
	bool has_any = tally->registrations;
	for (unsigned kind = 1; kind < TALLY_WALLETS_END; kind++) {
		put_le32(bytes + AT_INSTALLED + 4 * (kind - 1), tally->installed[kind]);
		has_any |= tally->installed[kind] != 0;
	}
	return view_put(view, TABLE_TALLY, &key, span_of(bytes, has_any ? TALLY_BYTES : TALLY_BYTES_WITHOUT));
}

enum err tally_move(struct view *view, struct account_id account, const struct hot *before,
                    const struct hot *after)
{
	struct tally tally;
	if (hot_count(before) == hot_count(after)) return OK;
	enum err err = tally_get(view, account, &tally);
	if (err) return err;
	if (tally.counts[hot_count(before)] == 0) return ERR_DAMAGED;
	tally.counts[hot_count(before)]--;
	tally.counts[hot_count(after)]++;
	return tally_put(view, account, &tally);
}

static enum err count(struct view *view, struct account_id account, struct tally *tally, uint32_t *counter,
                      int more)
{
	int64_t after = (int64_t)*counter + more;
	*counter = after < 0 ? 0 : (uint32_t)after;
	return tally_put(view, account, tally);
}

enum err tally_registrations(struct view *view, struct account_id account, int more)
{
	struct tally tally;
	enum err     err = more ? tally_get(view, account, &tally) : OK;
	return err || !more ? err : count(view, account, &tally, &tally.registrations, more);
}

enum err tally_installed(struct view *view, struct account_id account, unsigned kind, int more)
{
	struct tally tally;
	enum err     err = more ? tally_get(view, account, &tally) : OK;
	must(kind && kind < TALLY_WALLETS_END);
	return err || !more ? err : count(view, account, &tally, &tally.installed[kind], more);
}

uint32_t balance_width(int64_t balance)
{
	uint32_t width = balance < 0 ? 2 : 1;
	for (; balance / 10; balance /= 10)
		width++;
	return width;
}

/* A lookup is needed only if the update lengthens its own pass's balance, which is rare. */
enum err tally_widen(struct view *view, struct account_id account, int64_t before, int64_t after)
{
	struct tally tally;
	uint32_t     width = balance_width(after);
	if (before != 0 && width <= balance_width(before)) return OK;
	enum err err = tally_get(view, account, &tally);
	if (err || width <= tally.width) return err;
	tally.width = width;
	return tally_put(view, account, &tally);
}

uint32_t tally_live(const struct tally *tally)
{
	uint32_t live = 0;
	for (unsigned i = 0; i < HOT_COUNT_DELETED; i++)
		live += tally->counts[i];
	return live;
}
