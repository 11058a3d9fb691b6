/* Statuses of passes as bits in memory: they equal the rows of the requested view, whatever was written
 * between two lists. */
#include "tests/unit/lists.h"

#include "actors/shard/pass/statuses.h"
#include "store/keys.h"

enum { PASSES = STATUSES_PASSES_MIN + 77, MORE = 3000 };

static const struct account_id account = {{'a'}};
static uint8_t                 model[PASSES + MORE];
static uint32_t                made;

TestSuite(statuses, .init = begin, .fini = end);

static struct hot any(void)
{
	return (struct hot){.status = (uint8_t)chance_below(&state, 6),
	                    .flags = chance_below(&state, 5) ? 0 : HOT_DELETED};
}

static uint8_t byte_of(const struct hot *pass)
{
	return (uint8_t)(pass->status | (pass->flags & HOT_DELETED ? STATUS_DELETED : 0));
}

static void fill(unsigned count)
{
	while (count--) {
		struct hot pass = any();
		cr_assert_eq(hot_add(s.view, account, made, &pass), OK);
		scratch_save(&s);
		model[made++] = byte_of(&pass);
	}
	scratch_commit(&s);
}

static void change(uint32_t number)
{
	struct hot pass = any();
	cr_assert_eq(status_put(s.view, account, number, &pass, false), OK);
	scratch_save(&s);
	model[number] = byte_of(&pass);
}

static void are(const struct statuses *statuses, const uint8_t *want, uint32_t count)
{
	uint64_t found[STATUS_WORDS];
	for (unsigned status = 0; status < 16; status++)
		for (uint32_t number = 0; number < count; number++) {
			uint32_t at = number % STATUS_PASSES;
			if (at == 0)
				status_find(&statuses->rows[number / STATUS_PASSES], (uint16_t)(1u << status),
				            found);
			cr_assert_eq(found[at / 64] >> at % 64 & 1, want[number] == status,
			             "pass %u, status %u", number, status);
		}
}

/* Positions after the last pass have no status. */
static void end_there(const struct statuses *statuses)
{
	uint64_t found[STATUS_WORDS];
	if (made % STATUS_PASSES == 0) return;
	status_find(&statuses->rows[made / STATUS_PASSES], UINT16_MAX, found);
	for (uint32_t at = 0; at < STATUS_PASSES; at++)
		cr_assert_eq(found[at / 64] >> at % 64 & 1, at < made % STATUS_PASSES, "pass %u", at);
}

/* In a new view. Their address shows whether they were cached. */
static const struct statuses *look(void)
{
	struct statuses *statuses;
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(statuses_take(kept, reader, account, made, &statuses), OK);
	cr_assert_eq(statuses->made, made);
	are(statuses, model, made);
	end_there(statuses);
	const struct statuses *seen = statuses;
	statuses_give(kept, &statuses);
	cr_expect_null(statuses);
	db_reader_end(reader);
	return seen;
}

Test(statuses, equal_the_rows)
{
	static const unsigned sizes[] = {0, 1, 62, 1, 1, STATUS_PASSES - 66, 1, 1, 1, 1000};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		fill(sizes[i]);
		look();
	}
}

Test(statuses, follow_every_change)
{
	fill(PASSES);
	const struct statuses *first = look();
	for (unsigned turn = 0; turn < 60; turn++) {
		for (unsigned i = chance_below(&state, 1 + turn); i; i--)
			change(chance_below(&state, made));
		scratch_commit(&s);
		cr_expect_eq(look(), first, "they are cached");
		if (turn % 4 == 0) fill(chance_below(&state, MORE / 16));
	}
}

/* After a start no row has been written in this process, so the store has no times of writes. All rows must
 * still be read. */
Test(statuses, are_read_after_a_start)
{
	fill(PASSES);
	db_reader_close(&reader);
	scratch_reopen(&s);
	cr_assert_eq(db_reader_open(s.db, &arena, &reader), OK);
	const struct statuses *first = look();
	cr_expect_eq(look(), first, "they are cached");
}

/* Only rows that were written are read again. */
Test(statuses, read_again_only_written_rows)
{
	struct statuses *statuses;
	fill(PASSES);
	look();
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(statuses_take(kept, reader, account, made, &statuses), OK);
	for (unsigned row = 0; row < 3; row++)
		memset(&statuses->rows[row], 0x5a, sizeof *statuses->rows);
	struct status_bits odd = statuses->rows[0];
	statuses_give(kept, &statuses);
	db_reader_end(reader);
	change(STATUS_PASSES + 5);
	scratch_commit(&s);
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(statuses_take(kept, reader, account, made, &statuses), OK);
	cr_expect_eq(memcmp(&statuses->rows[0], &odd, sizeof odd), 0, "the row before is not read");
	cr_expect_eq(memcmp(&statuses->rows[2], &odd, sizeof odd), 0, "the row after it is not read");
	cr_expect_neq(memcmp(&statuses->rows[1], &odd, sizeof odd), 0, "the row itself is read");
	statuses_give(kept, &statuses);
	db_reader_end(reader);
}

/* A view that began before another one updated them does not see later changes. */
Test(statuses, of_an_older_view_are_read_again)
{
	struct view     *old;
	struct statuses *statuses;
	static uint8_t   then[PASSES];
	fill(PASSES);
	cr_assert_eq(db_reader_open(s.db, &arena, &old), OK);
	cr_assert_eq(db_reader_begin(old), OK);
	memcpy(then, model, sizeof then);
	for (unsigned i = 0; i < 500; i++)
		change(chance_below(&state, made));
	scratch_commit(&s);
	look();
	cr_assert_eq(statuses_take(kept, old, account, made, &statuses), OK);
	are(statuses, then, made);
	statuses_give(kept, &statuses);
	db_reader_close(&old);
	look();
}

Test(statuses, of_small_accounts_are_not_cached)
{
	struct statuses *statuses;
	uint64_t         found[STATUS_WORDS];
	fill(STATUSES_PASSES_MIN - 1);
	cr_assert_eq(db_reader_begin(reader), OK);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(statuses_take(kept, reader, account, made, &statuses), OK);
		status_find(&statuses->rows[0], UINT16_MAX, found);
		cr_expect_eq(found[0], UINT64_MAX);
		memset(statuses->rows, 0, sizeof *statuses->rows);
		statuses_give(kept, &statuses);
		fill(i); /* now there are enough */
	}
	db_reader_end(reader);
	const struct statuses *first = look();
	cr_expect_eq(look(), first);
}

Test(statuses, of_a_damaged_row_are_an_error_and_not_cached)
{
	struct statuses *statuses;
	struct row_key   key = key_u32(account, 1);
	fill(PASSES);
	look();
	cr_assert_eq(write_put(&s.staged, TABLE_STATUS, key_span(&key), filler(1, 100)), OK);
	scratch_save(&s);
	scratch_commit(&s);
	cr_assert_eq(db_reader_begin(reader), OK);
	for (unsigned i = 0; i < 2; i++) {
		cr_expect_eq(statuses_take(kept, reader, account, made, &statuses), ERR_DAMAGED);
		cr_expect_null(statuses);
	}
}

/* Sets of statuses, compared with a check of each byte. */
Test(statuses, of_a_set_are_found)
{
	static uint8_t     row[STATUS_PASSES];
	struct status_bits bits;
	uint64_t           found[STATUS_WORDS];
	for (unsigned turn = 0; turn < 3; turn++) {
		for (unsigned i = 0; i < STATUS_PASSES; i++)
			row[i] = chance_below(&state, 6) ? (uint8_t)chance_below(&state, 15) : STATUS_NOBODY;
		status_turn(row, &bits);
		for (unsigned wanted = 0; wanted <= UINT16_MAX;
		     wanted += turn ? 1 + chance_below(&state, 64) : 1) {
			unsigned word = chance_below(&state, STATUS_WORDS);
			status_find(&bits, (uint16_t)wanted, found);
			cr_assert_eq(found[word], status_mask(row + (size_t)word * 64, (uint16_t)wanted),
			             "%x, word %u", wanted, word);
		}
	}
}
