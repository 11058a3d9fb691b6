/* Columns of 40 passes. A change of one pass is a few patches of its columns and of the row's head, so a balance
 * update journals about 60 bytes and dirties one page. */
#include "store/hot.h"

#include "schemas/bytes.h"
#include "store/keys.h"
#include "store/status.h"
#include "store/tally.h"
#include "store/template_state.h"

enum {
	AT_COUNTS = 0,
	AT_OLDEST = 8,
	AT_NEWEST = 16,
	AT_STATUS = 24,
	AT_FLAGS = AT_STATUS + HOT_PASSES,
	AT_TEMPLATE = AT_FLAGS + HOT_PASSES,
	AT_SCAN_COUNT = AT_TEMPLATE + 2 * HOT_PASSES,
	AT_BALANCE = AT_SCAN_COUNT + 4 * HOT_PASSES,
	AT_CREATED = AT_BALANCE + 8 * HOT_PASSES,
	AT_UPDATED = AT_CREATED + 8 * HOT_PASSES,
	AT_LAST_SCAN = AT_UPDATED + 8 * HOT_PASSES,
	AT_LEDGER_HEAD = AT_LAST_SCAN + 8 * HOT_PASSES,
	ROW_BYTES = AT_LEDGER_HEAD + 8 * HOT_PASSES,
};
_Static_assert(ROW_BYTES == 1944, "the row's form is on disk");
_Static_assert((int)ROW_BYTES <= (int)ROW_BYTES_MAX, "two rows fit a page");

static wall_us wall_at(const uint8_t *at)
{
	return (wall_us){(int64_t)get_le64(at)};
}

struct hot hot_row_pass(struct span row, unsigned i)
{
	const uint8_t *b = row.at;
	return (struct hot){
	    .status = b[AT_STATUS + i],
	    .flags = b[AT_FLAGS + i],
	    .template = get_le16(b + AT_TEMPLATE + 2 * i),
	    .scan_count = get_le32(b + AT_SCAN_COUNT + 4 * i),
	    .balance = (int64_t)get_le64(b + AT_BALANCE + 8 * i),
	    .created = wall_at(b + AT_CREATED + 8 * i),
	    .updated = wall_at(b + AT_UPDATED + 8 * i),
	    .last_scan = wall_at(b + AT_LAST_SCAN + 8 * i),
	    .ledger_head = get_le64(b + AT_LEDGER_HEAD + 8 * i),
	};
}

static void copy_i64(const uint8_t *from, unsigned count, int64_t *to)
{
	for (unsigned i = 0; i < count; i++)
		to[i] = (int64_t)get_le64(from + (size_t)8 * i);
}

void hot_row_columns(struct span row, const struct hot_columns *columns)
{
	unsigned count = row.at[HOT_COUNT_USED];
	copy_i64(row.at + AT_UPDATED, count, columns->updated);
	copy_i64(row.at + AT_BALANCE, count, columns->balance);
	for (unsigned i = 0; i < count; i++)
		columns->template[i] = get_le16(row.at + AT_TEMPLATE + (size_t)2 * i);
}

bool hot_row_is_whole(struct span row)
{
	return row.size == ROW_BYTES && row.at[HOT_COUNT_USED] <= HOT_PASSES;
}

const uint8_t *hot_row_counts(struct span row)
{
	return row.at + AT_COUNTS;
}

enum err hot_get(struct view *view, struct account_id account, uint32_t number, struct hot_at *at)
{
	struct row_key key = key_u32(account, number / HOT_PASSES);
	unsigned       index = number % HOT_PASSES;
	*at = (struct hot_at){.account = account, .number = number};
	enum err err = view_get(view, TABLE_HOT, key_span(&key), &at->row);
	if (err) return err;
	if (!hot_row_is_whole(at->row)) return ERR_DAMAGED;
	if (index >= at->row.at[HOT_COUNT_USED]) return ERR_NOT_FOUND;
	at->now = hot_row_pass(at->row, index);
	return at->now.status < HOT_COUNT_DELETED ? OK : ERR_DAMAGED;
}

/* Stages patches in turn and keeps the first error. */
struct patcher {
	struct writes *writes;
	struct row_key key;
	enum err       err;
};

static void patch(struct patcher *patcher, size_t offset, const void *bytes, size_t size)
{
	if (!patcher->err)
		patcher->err = write_patch(patcher->writes, TABLE_HOT, key_span(&patcher->key),
		                           (uint16_t)offset, span_of(bytes, size));
}

static void patch_u64(struct patcher *patcher, size_t offset, uint64_t before, uint64_t after)
{
	uint8_t bytes[8];
	if (before == after) return;
	put_le64(bytes, after);
	patch(patcher, offset, bytes, sizeof bytes);
}

static void patch_counts(struct patcher *patcher, struct span row, const struct hot *before,
                         const struct hot *after)
{
	uint8_t counts[HOT_COUNTS];
	if (hot_count(before) == hot_count(after)) return;
	memcpy(counts, row.at + AT_COUNTS, sizeof counts);
	counts[hot_count(before)]--;
	counts[hot_count(after)]++;
	patch(patcher, AT_COUNTS, counts, sizeof counts);
}

/* The oldest and newest `updated` of the row, once pass `index` has `updated`. */
static void patch_bounds(struct patcher *patcher, struct span row, unsigned index, wall_us updated)
{
	int64_t oldest = updated.v, newest = updated.v;
	for (unsigned i = 0; i < row.at[HOT_COUNT_USED]; i++) {
		int64_t v = wall_at(row.at + AT_UPDATED + 8 * i).v;
		if (i == index) continue;
		if (v < oldest) oldest = v;
		if (v > newest) newest = v;
	}
	patch_u64(patcher, AT_OLDEST, get_le64(row.at + AT_OLDEST), (uint64_t)oldest);
	patch_u64(patcher, AT_NEWEST, get_le64(row.at + AT_NEWEST), (uint64_t)newest);
}

enum err hot_put(struct view *view, const struct hot_at *at, const struct hot *after)
{
	struct patcher    p = {.writes = view_writes(view),
	                       .key = key_u32(at->account, at->number / HOT_PASSES)};
	const struct hot *before = &at->now;
	size_t            i = at->number % HOT_PASSES;
	uint8_t           bytes[4];
	must(before->template == after->template && before->created.v == after->created.v);
	if (before->status != after->status) patch(&p, AT_STATUS + i, &after->status, 1);
	if (before->flags != after->flags) patch(&p, AT_FLAGS + i, &after->flags, 1);
	if (before->scan_count != after->scan_count) {
		put_le32(bytes, after->scan_count);
		patch(&p, AT_SCAN_COUNT + 4 * i, bytes, sizeof bytes);
	}
	patch_u64(&p, AT_BALANCE + 8 * i, (uint64_t)before->balance, (uint64_t)after->balance);
	patch_u64(&p, AT_UPDATED + 8 * i, (uint64_t)before->updated.v, (uint64_t)after->updated.v);
	patch_u64(&p, AT_LAST_SCAN + 8 * i, (uint64_t)before->last_scan.v, (uint64_t)after->last_scan.v);
	patch_u64(&p, AT_LEDGER_HEAD + 8 * i, before->ledger_head, after->ledger_head);
	patch_counts(&p, at->row, before, after);
	if (before->updated.v != after->updated.v) patch_bounds(&p, at->row, (unsigned)i, after->updated);
	if (!p.err && before->balance != after->balance)
		p.err = tally_widen(view, at->account, before->balance, after->balance);
	if (!p.err && (before->flags ^ after->flags) & HOT_DELETED)
		p.err = after->flags & HOT_DELETED ? template_remove_pass(view, at->account, after->template)
		                                   : template_add_pass(view, at->account, after->template);
	if (p.err || hot_count(before) == hot_count(after)) return p.err;
	return status_put(view, at->account, at->number, after, false);
}

static void fill(uint8_t *b, unsigned i, const struct hot *pass)
{
	b[AT_STATUS + i] = pass->status;
	b[AT_FLAGS + i] = pass->flags;
	put_le16(b + AT_TEMPLATE + 2 * i, pass->template);
	put_le32(b + AT_SCAN_COUNT + 4 * i, pass->scan_count);
	put_le64(b + AT_BALANCE + 8 * i, (uint64_t)pass->balance);
	put_le64(b + AT_CREATED + 8 * i, (uint64_t)pass->created.v);
	put_le64(b + AT_UPDATED + 8 * i, (uint64_t)pass->updated.v);
	put_le64(b + AT_LAST_SCAN + 8 * i, (uint64_t)pass->last_scan.v);
	put_le64(b + AT_LEDGER_HEAD + 8 * i, pass->ledger_head);
}

/* Writes the whole row: a creation is not a balance update, and the row may not exist yet. */
enum err hot_add(struct view *view, struct account_id account, uint32_t number, const struct hot *pass)
{
	struct row_key key = key_u32(account, number / HOT_PASSES);
	unsigned       index = number % HOT_PASSES;
	uint8_t        b[ROW_BYTES] = {0};
	struct span    row;
	enum err       err = view_get(view, TABLE_HOT, key_span(&key), &row);
	if (err && err != ERR_NOT_FOUND) return err;
	if (!err) {
		if (!hot_row_is_whole(row)) return ERR_DAMAGED;
		memcpy(b, row.at, sizeof b);
	}
	if (b[HOT_COUNT_USED] != index) return ERR_DAMAGED; /* numbers are dense */
	fill(b, index, pass);
	b[hot_count(pass)]++;
	b[HOT_COUNT_USED]++;
	if (index == 0 || pass->updated.v < wall_at(b + AT_OLDEST).v)
		put_le64(b + AT_OLDEST, (uint64_t)pass->updated.v);
	if (index == 0 || pass->updated.v > wall_at(b + AT_NEWEST).v)
		put_le64(b + AT_NEWEST, (uint64_t)pass->updated.v);
	if ((err = template_add_pass(view, account, pass->template))) return err;
	err = write_put(view_writes(view), TABLE_HOT, key_span(&key), span_of(b, sizeof b));
	return err ? err : status_put(view, account, number, pass, true);
}
