/* The rows of the works. Every command writes all of row n, sets `newest` to n, gives two passes n points and their ledgers row
 * n, and an account idempotency key n; it deletes row and key n - 8. One look therefore shows how far the tables have come, late
 * ones too, and whether they are as one command left them. Some rows are large, so that segments change every few commands. */
#include "tests/fault/rows.h"

#include "schemas/bytes.h"
#include "store/hot.h"
#include "store/keys.h"
#include "store/ledger.h"
#include "tests/unit/support.h"

enum { ROWS_KEPT = 8, LARGE_EVERY = 2, LARGE_BYTES = 48000 };

static struct span row_key(unsigned number)
{
	static uint8_t bytes[8] = "row";
	put_be32(bytes + 4, number);
	return span_of(bytes, sizeof bytes);
}

/* Uses no allocated memory: memory is only for the store, and its allocations may fail. Valid until the
 * next call. */
static struct span row_value(unsigned number)
{
	static uint8_t bytes[LARGE_BYTES];
	uint64_t       state = number;
	size_t         size = number % LARGE_EVERY ? 96 + number / 8 * 8 : LARGE_BYTES;
	for (size_t i = 0; i < size; i += 8)
		put_le64(bytes + i, chance(&state));
	return span_of(bytes, size);
}

static const struct span newest_key = {(const uint8_t *)"newest", 6};

enum { ACCOUNTS = 2 }; /* with a pass each, so in two rows of a late table: a round has two slices */

static struct account_id account_of(unsigned index)
{
	return (struct account_id){{'n', 't', 'h', (uint8_t)index}};
}

static enum err stage_event(struct writes *writes, struct account_id account, unsigned number)
{
	struct row_key key = key_u64(account, number);
	uint8_t        row[LEDGER_MOVE_BYTES] = {[4] = LEDGER_LOYALTY};
	put_le64(row + 32, number);
	return write_put(writes, TABLE_LEDGER, key_span(&key), span_of(row, sizeof row));
}

static struct row_key key_of(unsigned number)
{
	enum { HASH_BYTES = 32 };
	struct row_key key = key_account(account_of(0));
	memset(key.bytes + key.size, 0, HASH_BYTES);
	put_be32(key.bytes + key.size, number * 0x9e3779b9);
	key.size += HASH_BYTES;
	return key;
}

/* One comes, one goes. */
static enum err stage_keys(struct writes *writes, unsigned number)
{
	struct row_key key = key_of(number), old = key_of(number - ROWS_KEPT);
	uint8_t        value[8];
	put_le64(value, number);
	enum err err = write_put(writes, TABLE_IDEMPOTENCY, key_span(&key), span_of(value, sizeof value));
	return err || number <= ROWS_KEPT ? err : write_del(writes, TABLE_IDEMPOTENCY, key_span(&old));
}

static enum err stage_passes(struct writes *writes, unsigned number)
{
	uint8_t  row[HOT_ROW_BYTES] = {[2] = 1, [HOT_COUNT_USED] = 1};
	uint16_t at = hot_field_at(HOT_BALANCE, 0);
	enum err err = OK;
	hot_row_put(row, 0, &(struct hot){.status = 2, .balance = number});
	for (unsigned i = 0; i < ACCOUNTS && !err; i++) {
		struct row_key key = key_u32(account_of(i), 0);
		err = number == 1 ? write_put(writes, TABLE_HOT, key_span(&key), span_of(row, sizeof row))
		                  : write_patch(writes, TABLE_HOT, key_span(&key), at, span_of(row + at, 8));
		if (!err) err = stage_event(writes, account_of(i), number);
	}
	return err;
}

enum err rows_stage(struct writes *writes, unsigned number)
{
	uint8_t  bytes[8];
	enum err err = stage_passes(writes, number);
	if (!err) err = stage_keys(writes, number);
	put_le64(bytes, number);
	struct span newest = span_of(bytes, sizeof bytes);
	if (err) return err;
	if ((err = write_put(writes, TABLE_BODY, row_key(number), row_value(number)))) return err;
	if (number == 1) return write_put(writes, TABLE_TALLY, newest_key, newest);
	if ((err = write_patch(writes, TABLE_TALLY, newest_key, 0, newest))) return err;
	return number > ROWS_KEPT ? write_del(writes, TABLE_BODY, row_key(number - ROWS_KEPT)) : OK;
}

static enum err look_at_ledger(struct view *view, struct account_id account, unsigned newest)
{
	struct ledger_row row;
	uint64_t          last;
	enum err          err = ledger_last(view, account, &last);
	if (!err && last != newest) return ERR_DAMAGED;
	for (unsigned seq = newest; !err && seq && seq + ROWS_KEPT > newest; seq--) {
		err = ledger_get(view, account, seq, &row);
		if (!err && row.balance != seq) return ERR_DAMAGED;
	}
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

static enum err look_at_passes(struct view *view, unsigned newest)
{
	struct hot_at pass;
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		enum err err = hot_get(view, account_of(i), 0, &pass);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (pass.now.balance != newest) return ERR_DAMAGED;
		if ((err = look_at_ledger(view, account_of(i), newest))) return err;
	}
	return OK;
}

/* The number of the newest row; ERR_DAMAGED if the rows are not as its command left them. */
enum err rows_look(struct view *view, struct arena *arena, unsigned *newest)
{
	struct span value;
	enum err    err = view_get(view, TABLE_TALLY, newest_key, &value);
	*newest = 0;
	if (err == ERR_NOT_FOUND) return OK;
	if (err) return err;
	if (value.size != 8) return ERR_DAMAGED;
	*newest = (unsigned)get_le64(value.at);
	unsigned oldest = *newest > ROWS_KEPT ? *newest - ROWS_KEPT : 0;
	for (unsigned number = oldest; number <= *newest + 1; number++) {
		bool is_there = number > oldest && number <= *newest;
		if ((err = view_get(view, TABLE_BODY, row_key(number), &value)) && err != ERR_NOT_FOUND)
			return err;
		if (!err != is_there || (!err && !span_equal(value, row_value(number)))) return ERR_DAMAGED;
		arena_reset(arena);
	}
	return look_at_passes(view, *newest);
}

enum err rows_look_at_keys(struct view *writer, unsigned newest)
{
	unsigned oldest = newest > ROWS_KEPT ? newest - ROWS_KEPT : 0;
	for (unsigned number = oldest; number <= newest + 1; number++) {
		struct row_key key = key_of(number);
		struct span    value;
		bool           is_there = number > oldest && number <= newest;
		enum err       err = view_get(writer, TABLE_IDEMPOTENCY, key_span(&key), &value);
		if (err && err != ERR_NOT_FOUND) return err;
		if (!err != is_there || (!err && get_le64(value.at) != number)) return ERR_DAMAGED;
	}
	return OK;
}
