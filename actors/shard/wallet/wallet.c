/* Which credential serves an account, and for how long. */
#include "actors/shard/wallet/wallet.h"

#include <strings.h>

unsigned wallet_kinds_here(const struct request *request)
{
	return atomic_load_explicit(&request->facts->wallets, memory_order_relaxed);
}

bool wallet_is_on(const struct account_row *account, enum wallet_kind kind)
{
	return !(account->wallets_off & WALLET_BIT(kind));
}

enum err wallet_credential_now(struct view *view, struct account_id account, enum wallet_kind kind,
                               struct wallet_credential *row)
{
	enum err err = wallet_current_get(view, account, kind, row);
	return err == ERR_NOT_FOUND ? wallet_current_get(view, wallet_operator, kind, row) : err;
}

enum err wallet_credential_of(struct view *view, struct account_id account, enum wallet_kind kind,
                              uint64_t number, struct wallet_credential *row)
{
	enum err err = wallet_credential_get(view, account, kind, number, row);
	return err == ERR_NOT_FOUND ? wallet_credential_get(view, wallet_operator, kind, number, row) : err;
}

wall_us wallet_credential_end(const struct wallet_credential *row)
{
	if (row->kind != WALLET_APPLE) return (wall_us){INT64_MAX};
	return row->issuer_not_after.v < row->not_after.v ? row->issuer_not_after : row->not_after;
}

wall_us wallet_real_time(const struct request *request)
{
	const struct shard_facts *facts = request->facts;
	return (wall_us){request->now.v - atomic_load(&facts->clock_offset) + atomic_load(&facts->clock_gap)};
}

bool wallet_credential_ended(const struct wallet_credential *row, wall_us now)
{
	return wallet_credential_end(row).v <= now.v;
}

bool wallet_credential_rests(const struct wallet_credential *row, wall_us now)
{
	return row->rests_until.v > now.v;
}

bool wallet_has_service(const struct request *request)
{
	const char *url = request->facts->public_url;
	return url && !strncasecmp(url, "https://", 8);
}

void wallet_owner_text(struct account_id owner, char text[ACCOUNT_ID_TEXT])
{
	static const char nobody[] = "default";
	if (!account_same(owner, wallet_operator))
		account_id_text(owner, text);
	else
		memcpy(text, nobody, sizeof nobody);
}
