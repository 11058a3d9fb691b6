/* The audit of a shard's tables: first their structure (walk.h), then, if that holds, the meaning of the rows.
 * Accounts are visited in id order. Any id that begins a key in any table counts, so rows of missing accounts are
 * found too. Redundant values of an account are recomputed and compared. Memory is bounded by one account's passes. */
#include "store/audit.h"

#include "schemas/bytes.h"
#include "store/account_row.h"
#include "store/auditor.h"
#include "store/wallet_credential.h"
#include "store/walk.h"

#include <stdlib.h>

enum { KEY_REST = 16, KEY_VALUE = 48, SWITCHES_KNOWN = 63 };

/* The tables whose keys begin with an account. */
static bool is_account_table(enum table table)
{
	switch (table) {
#define T(id, NAME, name, kind) case TABLE_##NAME:
#include "store/tables.def"
#undef T
		return table != TABLE_META;
	case TABLE_END: break;
	}
	return false;
}

/* META ---------------------------------------------------------------------------------------------------- */

static enum err audit_meta(struct auditor *auditor)
{
	static const struct {
		const char *name;
		size_t      size;
	} known[] = {{"applied", APPLIED_BYTES},   {"applied", APPLIED_BYTES_2},
	             {"applied", APPLIED_BYTES_1}, {"late", APPLIED_BYTES},
	             {"late", APPLIED_BYTES_2},    {"clock_offset", 8},
	             {"issuer_paused", 1},         {"erased", 8},
	             {"segment_begun", 8},         {"wallets", 1}};
	struct raw_row row;
	enum err       err = view_raw_from(auditor->reader, TABLE_META, span_of(NULL, 0), &row);
	for (; !err; err = view_raw_next(auditor->reader, TABLE_META, &row)) {
		bool found = false;
		auditor->audit->rows++;
		for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
			found |= span_is(row.key, known[i].name) && row.stored.size == known[i].size + 4;
		found |= span_is(row.key, "google_keys") && row.stored.size <= GOOGLE_KEYS_BYTES_MAX + 4;
		if (!found) fault(auditor->faults, "table meta: an unknown row, or one of a wrong size");
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* One account -------------------------------------------------------------------------------------------- */

enum err audit_keys(struct auditor *auditor)
{
	struct audit_rows rows = {.table = TABLE_KEY};
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		if (rows.rest.size != KEY_REST || rows.value.size != KEY_VALUE) {
			audit_fault(auditor, TABLE_KEY, "a row of a wrong size");
			continue;
		}
		int64_t created = (int64_t)get_le64(rows.value.at + 32);
		int64_t revoked = (int64_t)get_le64(rows.value.at + 40);
		if (created < 0 || revoked < 0)
			audit_fault(auditor, TABLE_KEY, "a key with an impossible time");
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* The account's own row. *there: the other rows of the account can be judged. */
static enum err audit_account_row(struct auditor *auditor, bool *there)
{
	struct audit_rows  rows = {.table = TABLE_ACCOUNT};
	struct account_row account;
	enum err           err;
	*there = false;
	while (!(err = audit_row(auditor, &rows))) {
		if (rows.rest.size)
			audit_fault(auditor, TABLE_ACCOUNT, "a key of %zu bytes", rows.row.key.size);
		else if (rows.value.size && rows.value.at[0] & ~SWITCHES_KNOWN)
			audit_fault(auditor, TABLE_ACCOUNT, "an unknown switch");
	}
	if (err != ERR_NOT_FOUND) return err;
	err = account_row_get(auditor->reader, auditor->account, &account);
	if (err == ERR_NOT_FOUND) return OK;
	if (err == ERR_DAMAGED) {
		audit_fault(auditor, TABLE_ACCOUNT, "its row cannot be read");
		return OK;
	}
	if (err) return err;
	auditor->template_count = account.template_count;
	*there = true;
	auditor->audit->accounts++;
	return OK;
}

/* The nil account has no row: the operator's credentials for wallets are in its name. */
static bool is_operator(const struct auditor *auditor)
{
	return account_same(auditor->account, wallet_operator);
}

/* Rows without an account. */
static enum err audit_strays(struct auditor *auditor)
{
	for (unsigned table = 1; table < TABLE_END; table++) {
		struct audit_rows rows = {.table = (enum table)table};
		if (!is_account_table((enum table)table) || table == TABLE_ACCOUNT) continue;
		bool is_known = table == TABLE_WALLET_CREDENTIAL || table == TABLE_SHAPE_DUE;
		if (is_known && is_operator(auditor)) continue;
		enum err err = audit_row(auditor, &rows);
		if (!err)
			audit_fault(auditor, (enum table)table, "rows of an account that does not exist");
		else if (err != ERR_NOT_FOUND)
			return err;
	}
	return OK;
}

static enum err (*const parts[])(struct auditor *) = {
#define A(name) audit_##name,
#include "store/audits.def"
#undef A
};

static enum err audit_account(struct auditor *auditor)
{
	bool     there;
	enum err err;
	account_id_text(auditor->account, auditor->account_text);
	if ((err = audit_account_row(auditor, &there))) return err;
	if (!there && is_operator(auditor)) {
		if ((err = audit_wallets(auditor))) return err;
		if ((err = audit_shapes(auditor))) return err;
	}
	if (!there) return audit_strays(auditor);
	for (unsigned i = 0; !err && i < sizeof parts / sizeof *parts; i++)
		err = parts[i](auditor);
	return err;
}

/* All accounts -------------------------------------------------------------------------------------------- */

/* The smallest id at or after *id in any table. Errors: ERR_NOT_FOUND: none. */
static enum err next_account(struct auditor *auditor, struct account_id *id)
{
	struct row_key    key = key_account(*id);
	struct account_id least;
	bool              found = false;
	for (unsigned table = 1; table < TABLE_END; table++) {
		struct account_id here = {{0}};
		struct raw_row    row;
		if (!is_account_table((enum table)table)) continue;
		enum err err = view_raw_from(auditor->reader, (enum table)table, key_span(&key), &row);
		if (err == ERR_NOT_FOUND) continue;
		if (err) return err;
		if (row.key.size < sizeof here)
			fault(auditor->faults, "table %u: a key of %zu bytes", table, row.key.size);
		memcpy(here.b, row.key.at, row.key.size < sizeof here ? row.key.size : sizeof here);
		/* Otherwise the loop over the accounts would not end. */
		if (memcmp(here.b, id->b, sizeof here.b) < 0) {
			fault(auditor->faults, "table %u: a search finds what is before it", table);
			return ERR_DAMAGED;
		}
		if (!found || memcmp(here.b, least.b, sizeof here) < 0) least = here;
		found = true;
	}
	if (!found) return ERR_NOT_FOUND;
	*id = least;
	return OK;
}

/* The next id; false after the last possible one. */
static bool step(struct account_id *id)
{
	for (size_t i = sizeof id->b; i-- > 0;)
		if (++id->b[i]) return true;
	return false;
}

static enum err audit_accounts(struct auditor *auditor)
{
	enum err err;
	while (!(err = next_account(auditor, &auditor->account))) {
		if ((err = audit_account(auditor))) return err;
		if (!step(&auditor->account)) return OK;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Damaged or misplaced rows make everything computed from them wrong too, so then only the structural faults are
 * reported. */
enum err audit_tables(struct view *reader, struct audit *audit, struct faults *faults,
                      struct progress *progress)
{
	struct auditor auditor = {.reader = reader, .audit = audit, .faults = faults, .progress = progress};
	uint64_t       before = faults->count;
	*audit = (struct audit){0};
	enum err err = walk_tables(reader, faults, progress);
	if (err || faults->count != before) return err;
	if (!(err = audit_meta(&auditor))) err = audit_accounts(&auditor);
	buffer_free(&auditor.whole);
	buffer_free(&auditor.name_fields);
	buffer_free(&auditor.versions);
	buffer_free(&auditor.text);
	arena_free(&auditor.arena);
	free(auditor.passes);
	free(auditor.templates);
	free(auditor.order);
	if (err != ERR_DAMAGED) return err;
	fault(faults, "the tables contradict themselves");
	return OK;
}
