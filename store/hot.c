/* Passes as handlers see them. A change of one pass is a few patches of its fields and of its row's counts, so a balance
 * update journals about 50 bytes. */
#include "store/hot.h"

#include "schemas/bytes.h"
#include "store/cells.h"
#include "store/keys.h"
#include "store/status.h"
#include "store/tally.h"
#include "store/template_state.h"

static enum err of_row(struct span row, struct hot_at *at)
{
	unsigned index = at->number % HOT_PASSES;
	if (!hot_row_is_whole(row)) return ERR_DAMAGED;
	memcpy(at->counts, hot_row_counts(row), HOT_COUNTS);
	if (index >= at->counts[HOT_COUNT_USED]) return ERR_NOT_FOUND;
	at->now = hot_row_pass(row, index);
	return OK;
}

static enum err of_cell(struct view *view, const struct write *staged, struct hot_at *at)
{
	enum err err = cells_get(view, at->account, at->number, at->counts, &at->now);
	if (err || !staged) return err;
	return hot_patch_pass(staged, at->number % HOT_PASSES, at->counts, &at->now) ? OK : ERR_DAMAGED;
}

enum err hot_get(struct view *view, struct account_id account, uint32_t number, struct hot_at *at)
{
	struct row_key       key = key_u32(account, number / HOT_PASSES);
	const struct writes *writes = view_writes(view);
	const struct write  *staged = writes && writes->count ? writes_find(writes, TABLE_HOT, key_span(&key))
	                                                      : NULL;
	enum err             err = ERR_NOT_FOUND;
	*at = (struct hot_at){.account = account, .number = number};
	if (!staged || staged->kind == WRITE_PATCH)
		err = of_cell(view, staged, at);
	else if (staged->kind == WRITE_PUT)
		err = of_row(staged->value, at);
	if (err) return err;
	return at->now.status < HOT_COUNT_DELETED ? OK : ERR_DAMAGED;
}

/* Stages patches in turn and keeps the first error. */
struct patcher {
	struct writes *writes;
	struct row_key key;
	unsigned       index;
	enum err       err;
};

static void patch(struct patcher *patcher, size_t offset, const void *bytes, size_t size)
{
	if (!patcher->err)
		patcher->err = write_patch(patcher->writes, TABLE_HOT, key_span(&patcher->key),
		                           (uint16_t)offset, span_of(bytes, size));
}

static void patch_u8(struct patcher *patcher, enum hot_field field, uint8_t before, uint8_t after)
{
	if (before != after) patch(patcher, hot_field_at(field, patcher->index), &after, 1);
}

static void patch_u64(struct patcher *patcher, enum hot_field field, uint64_t before, uint64_t after)
{
	uint8_t bytes[8];
	if (before == after) return;
	put_le64(bytes, after);
	patch(patcher, hot_field_at(field, patcher->index), bytes, sizeof bytes);
}

static void patch_counts(struct patcher *patcher, const struct hot_at *at, const struct hot *after)
{
	uint8_t counts[HOT_COUNTS];
	if (hot_count(&at->now) == hot_count(after)) return;
	memcpy(counts, at->counts, sizeof counts);
	counts[hot_count(&at->now)]--;
	counts[hot_count(after)]++;
	patch(patcher, 0, counts, sizeof counts);
}

enum err hot_put(struct view *view, const struct hot_at *at, const struct hot *after)
{
	struct patcher    p = {.writes = view_writes(view),
	                       .key = key_u32(at->account, at->number / HOT_PASSES),
	                       .index = at->number % HOT_PASSES};
	const struct hot *before = &at->now;
	uint8_t           bytes[4];
	must(before->template == after->template && before->created.v == after->created.v);
	patch_u8(&p, HOT_STATUS, before->status, after->status);
	patch_u8(&p, HOT_FLAGS, before->flags, after->flags);
	if (before->scan_count != after->scan_count) {
		put_le32(bytes, after->scan_count);
		patch(&p, hot_field_at(HOT_SCAN_COUNT, p.index), bytes, sizeof bytes);
	}
	patch_u64(&p, HOT_BALANCE, (uint64_t)before->balance, (uint64_t)after->balance);
	patch_u64(&p, HOT_UPDATED, (uint64_t)before->updated.v, (uint64_t)after->updated.v);
	patch_u64(&p, HOT_LAST_SCAN, (uint64_t)before->last_scan.v, (uint64_t)after->last_scan.v);
	patch_u64(&p, HOT_LEDGER_HEAD, before->ledger_head, after->ledger_head);
	patch_counts(&p, at, after);
	if (!p.err && before->balance != after->balance)
		p.err = tally_widen(view, at->account, before->balance, after->balance);
	if (!p.err) p.err = template_count_pass(view, at->account, before, after);
	if (p.err || hot_count(before) == hot_count(after)) return p.err;
	return status_put(view, at->account, at->number, after, false);
}

/* Writes the whole row: a creation is not a balance update, and the row may not exist yet. */
enum err hot_add(struct view *view, struct account_id account, uint32_t number, const struct hot *pass)
{
	struct row_key key = key_u32(account, number / HOT_PASSES);
	unsigned       index = number % HOT_PASSES;
	uint8_t        b[HOT_ROW_BYTES] = {0};
	struct span    row;
	enum err       err = view_get(view, TABLE_HOT, key_span(&key), &row);
	if (err && err != ERR_NOT_FOUND) return err;
	if (!err) {
		if (!hot_row_is_whole(row)) return ERR_DAMAGED;
		memcpy(b, row.at, sizeof b);
		memset(b + HOT_COUNTS, 0, HOT_COLUMNS_AT - HOT_COUNTS);
	}
	if (b[HOT_COUNT_USED] != index) return ERR_DAMAGED; /* numbers are dense */
	hot_row_put(b, index, pass);
	b[hot_count(pass)]++;
	b[HOT_COUNT_USED]++;
	if ((err = template_count_pass(view, account, NULL, pass))) return err;
	err = view_put(view, TABLE_HOT, &key, span_of(b, sizeof b));
	return err ? err : status_put(view, account, number, pass, true);
}

bool hot_is_in_memory(struct view *view, struct account_id account, uint32_t row)
{
	return cells_has(view, account, row);
}

enum err hot_columns(struct view *view, struct account_id account, uint32_t row,
                     const struct hot_columns *columns, unsigned *used)
{
	return cells_columns(view, account, row, columns, used);
}
