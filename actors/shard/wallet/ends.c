/* Ends of credentials, and the lines about them. An entry has the next threshold below which it has not been logged. One that
 * was read at the start begins with the first threshold, so that a start logs what ends soon; one that was put begins with the
 * first that lies ahead. */
#include "actors/shard/wallet/ends.h"

#include "actors/rt/log.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/array.h"

#include <stdlib.h>

static const int64_t thresholds_days[] = {30, 14, 7, 1};
enum { THRESHOLDS = sizeof thresholds_days / sizeof *thresholds_days };

/* When an entry comes below its next threshold; INT64_MAX: it was below all. */
static int64_t due(const struct wallet_end *end)
{
	return end->next < THRESHOLDS ? end->end.v - thresholds_days[end->next] * US_PER_DAY : INT64_MAX;
}

/* Passes over the thresholds that lie behind; returns the last of them, in days; 0: none. */
static int64_t pass_over(struct wallet_end *end, wall_us now)
{
	int64_t days = 0;
	for (; due(end) <= now.v; end->next++)
		days = thresholds_days[end->next];
	return days;
}

static void set_look_at(struct wallet_ends *ends)
{
	ends->look_at.v = INT64_MAX;
	for (size_t i = 0; i < ends->count; i++)
		if (due(&ends->of[i]) < ends->look_at.v) ends->look_at.v = due(&ends->of[i]);
}

/* Entries ------------------------------------------------------------------------------------------------- */

static bool is_of(const struct wallet_end *end, struct account_id account, enum wallet_kind kind)
{
	return end->kind == kind && account_same(end->account, account);
}

static enum err add(struct wallet_ends *ends, const struct wallet_end *end)
{
	struct wallet_end *of = array_grown(ends->of, ends->count, &ends->room, sizeof *of);
	if (!of) return ERR_NO_MEMORY;
	ends->of = of;
	ends->of[ends->count++] = *end;
	return OK;
}

static void drop(struct wallet_ends *ends, struct account_id account, enum wallet_kind kind)
{
	for (size_t i = 0; i < ends->count; i++) {
		if (!is_of(&ends->of[i], account, kind)) continue;
		ends->of[i] = ends->of[--ends->count];
		return;
	}
}

/* Replaces the account's entry by what its rows say. `now` NULL: at the start. */
static enum err renew(struct wallet_ends *ends, struct view *view, struct wallet_end entry,
                      const wall_us *now)
{
	struct wallet_credential row;
	bool                     is_default = account_same(entry.account, wallet_operator);
	enum err                 err = wallet_current_get(view, entry.account, entry.kind, &row);
	if (now) drop(ends, entry.account, entry.kind); /* at the start there is none yet */
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	entry.end = wallet_credential_end(&row);
	entry.next = 0;
	if (now) (void)pass_over(&entry, *now);
	return entry.end.v == INT64_MAX || (is_default && !ends->is_first) ? OK : add(ends, &entry);
}

/* Rests --------------------------------------------------------------------------------------------------- */

static enum err add_rest(struct wallet_ends *ends, const struct wallet_credential *row)
{
	struct wallet_rest *rests = array_grown(ends->rests, ends->rest_count, &ends->rest_room,
	                                        sizeof *rests);
	if (!rests) return ERR_NO_MEMORY;
	ends->rests = rests;
	ends->rests[ends->rest_count++] = (struct wallet_rest){row->account, row->kind, row->number,
	                                                       row->rests_until};
	return OK;
}

static void drop_rest(struct wallet_ends *ends, const struct wallet_rest *gone)
{
	for (size_t i = 0; i < ends->rest_count; i++) {
		struct wallet_rest *rest = &ends->rests[i];
		if (rest->kind != gone->kind || rest->number != gone->number ||
		    !account_same(rest->account, gone->account))
			continue;
		*rest = ends->rests[--ends->rest_count];
		return;
	}
}

/* A credential was written. */
static enum err renew_rest(struct wallet_ends *ends, struct view *view, const struct wallet_rest *of)
{
	struct wallet_credential row;
	drop_rest(ends, of);
	enum err err = wallet_credential_get(view, of->account, of->kind, of->number, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return row.rest_s ? add_rest(ends, &row) : OK;
}

unsigned wallet_ends_resting(struct wallet_ends *ends, wall_us now)
{
	unsigned count = 0;
	pthread_mutex_lock(&ends->lock);
	for (size_t i = 0; i < ends->rest_count; i++)
		count += ends->rests[i].until.v > now.v;
	pthread_mutex_unlock(&ends->lock);
	return count;
}

/* Load, free, writes -------------------------------------------------------------------------------------- */

/* The account, kind and number of a row. False: of another form. */
static bool read_key(struct span key, struct wallet_end *entry, uint64_t *number)
{
	size_t size = sizeof entry->account;
	if (key.size < size) return false;
	memcpy(entry->account.b, key.at, size);
	/* A credential's row has the number of its part behind its key. */
	size_t rest = key.size - size < WALLET_KEY_BYTES ? key.size - size : WALLET_KEY_BYTES;
	return wallet_key_read(span_of(key.at + size, rest), &entry->kind, number);
}

/* Calls `take` for all rows. */
static enum err walk(struct wallet_ends *ends, struct view *view,
                     enum err (*take)(struct wallet_ends *ends, struct view *view,
                                      const struct wallet_rest *of, struct span value))
{
	struct view_row row;
	struct buffer   room = {0};
	enum err        err = view_parted_from(view, TABLE_WALLET_CREDENTIAL, span_of("", 1), &room, &row);
	for (; !err; err = view_parted_next(view, TABLE_WALLET_CREDENTIAL, &room, &row)) {
		struct wallet_end  entry = {.end = {0}};
		struct wallet_rest of = {.number = 0};
		if (!read_key(row.key, &entry, &of.number)) {
			err = ERR_DAMAGED;
			break;
		}
		of.account = entry.account;
		of.kind = entry.kind;
		if ((err = take(ends, view, &of, row.value))) break;
	}
	buffer_free(&room);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* The look-ups move the cursor, to the row named here: only rows of this kind are passed over. */
static enum err load_end(struct wallet_ends *ends, struct view *view, const struct wallet_rest *of,
                         struct span value)
{
	const struct wallet_end entry = {.account = of->account, .kind = of->kind};
	(void)value;
	return of->number ? OK : renew(ends, view, entry, NULL);
}

static enum err load_rest(struct wallet_ends *ends, struct view *view, const struct wallet_rest *of,
                          struct span value)
{
	struct wallet_credential row;
	enum err                 err = of->number ? wallet_credential_read(value, &row) : OK;
	(void)view;
	if (err || !of->number || !row.rest_s) return err;
	row.account = of->account;
	row.kind = of->kind;
	row.number = of->number;
	return add_rest(ends, &row);
}

enum err wallet_ends_load(struct wallet_ends *ends, struct view *view, bool is_first)
{
	*ends = (struct wallet_ends){.is_first = is_first};
	must(!pthread_mutex_init(&ends->lock, NULL));
	enum err err = walk(ends, view, load_end);
	return err ? err : walk(ends, view, load_rest);
}

void wallet_ends_free(struct wallet_ends *ends)
{
	free(ends->of);
	ends->of = NULL;
	ends->count = ends->room = 0;
	free(ends->rests);
	ends->rests = NULL;
	ends->rest_count = ends->rest_room = 0;
}

enum err wallet_ends_on_writes(struct wallet_ends *ends, const struct writes *writes, struct view *view,
                               wall_us now)
{
	enum err err = OK;
	pthread_mutex_lock(&ends->lock);
	for (unsigned i = 0; !err && i < writes->count; i++) {
		struct wallet_end entry = {.end = {0}};
		uint64_t          number;
		if (writes->rows[i].table != TABLE_WALLET_CREDENTIAL) continue;
		if (!read_key(writes->rows[i].key, &entry, &number)) continue;
		const struct wallet_rest rest = {entry.account, entry.kind, number, {0}};
		err = number ? renew_rest(ends, view, &rest) : renew(ends, view, entry, &now);
	}
	set_look_at(ends);
	pthread_mutex_unlock(&ends->lock);
	return err;
}

/* Telling ------------------------------------------------------------------------------------------------- */

void wallet_ends_log(struct wallet_ends *ends, wall_us now)
{
	char account[ACCOUNT_ID_TEXT];
	if (now.v < ends->look_at.v) return;
	pthread_mutex_lock(&ends->lock);
	for (size_t i = 0; i < ends->count; i++) {
		int64_t days = pass_over(&ends->of[i], now);
		if (!days) continue;
		wallet_owner_text(ends->of[i].account, account);
		log_warn("wallet-credential-ends", "account=%s kind=%s days=%d", account,
		         wallet_kind_text(ends->of[i].kind), (int)days);
	}
	set_look_at(ends);
	pthread_mutex_unlock(&ends->lock);
}

unsigned wallet_ends_soonest(struct wallet_ends *ends, struct wallet_end soonest[WALLET_ENDS_SHOWN_MAX])
{
	unsigned count = 0;
	pthread_mutex_lock(&ends->lock);
	for (size_t i = 0; i < ends->count; i++) {
		unsigned at = count < WALLET_ENDS_SHOWN_MAX ? count++ : WALLET_ENDS_SHOWN_MAX;
		for (; at && soonest[at - 1].end.v > ends->of[i].end.v; at--)
			if (at < WALLET_ENDS_SHOWN_MAX) soonest[at] = soonest[at - 1];
		if (at < WALLET_ENDS_SHOWN_MAX) soonest[at] = ends->of[i];
	}
	pthread_mutex_unlock(&ends->lock);
	return count;
}
