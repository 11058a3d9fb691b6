/* Statuses of passes as rows of bytes: they equal what was written, and a set of statuses is found as by a look at each byte. */
#include "tests/unit/support.h"

#include "store/keys.h"
#include "store/status.h"

#include <criterion/criterion.h>

enum { PASSES = 2 * STATUS_PASSES + 77 };

static const struct account_id account = {{'a'}};
static uint64_t                state; /* of the random numbers */
static uint8_t                 model[PASSES];

SCRATCH_SUITE(status);

static void put(uint32_t number, bool is_new)
{
	struct hot pass = {.status = (uint8_t)chance_below(&state, 6),
	                   .flags = chance_below(&state, 5) ? 0 : HOT_DELETED};
	cr_assert_eq(status_put(s.view, account, number, &pass, is_new), OK);
	scratch_save(&s);
	model[number] = (uint8_t)(pass.status | (pass.flags & HOT_DELETED ? STATUS_DELETED : 0));
}

static void fill(void)
{
	state = chance_begin();
	for (uint32_t number = 0; number < PASSES; number++)
		put(number, true);
}

Test(status, rows_follow_every_change)
{
	const uint8_t *row;
	fill();
	for (unsigned turn = 0; turn < 500; turn++)
		put(chance_below(&state, PASSES), false);
	for (uint32_t number = 0; number < PASSES; number++) {
		cr_assert_eq(status_row_get(s.view, account, number / STATUS_PASSES, &row), OK);
		cr_assert_eq(row[number % STATUS_PASSES], model[number], "pass %u", number);
	}
	for (unsigned at = PASSES % STATUS_PASSES; at < STATUS_PASSES; at++)
		cr_assert_eq(row[at], STATUS_NOBODY);
}

Test(status, a_row_that_is_missing_or_damaged_is_an_error)
{
	struct row_key key = key_u32(account, 1);
	const uint8_t *row;
	fill();
	cr_expect_eq(status_row_get(s.view, account, 3, &row), ERR_DAMAGED);
	cr_assert_eq(write_put(&s.staged, TABLE_STATUS, key_span(&key), filler(1, 100)), OK);
	scratch_save(&s);
	cr_expect_eq(status_row_get(s.view, account, 1, &row), ERR_DAMAGED);
	cr_expect_eq(status_put(s.view, account, STATUS_PASSES + 1, &(struct hot){0}, false), ERR_DAMAGED);
}

static bool is_in(uint8_t byte, uint16_t wanted)
{
	return byte < 16 && wanted >> byte & 1;
}

Test(status, of_a_set_are_found)
{
	uint8_t bytes[64];
	state = chance_begin();
	for (unsigned wanted = 0; wanted <= UINT16_MAX; wanted += 1 + chance_below(&state, 8)) {
		for (unsigned i = 0; i < sizeof bytes; i++)
			bytes[i] = chance_below(&state, 6) ? (uint8_t)chance_below(&state, 16)
			                                   : STATUS_NOBODY;
		uint64_t found = status_mask(bytes, (uint16_t)wanted);
		for (unsigned i = 0; i < sizeof bytes; i++)
			cr_assert_eq(found >> i & 1, is_in(bytes[i], (uint16_t)wanted), "%x of %x", bytes[i],
			             wanted);
	}
}
