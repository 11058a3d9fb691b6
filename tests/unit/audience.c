/* Rows of audiences: they read as they were written, members can leave, and invalid rows are damage. */
#include "store/audience.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(audience);
static const struct account_id account = {{'b'}}, after = {{'c'}};

Test(audience, is_read_as_it_was_put)
{
	static struct audience_member members[2500], again[2500];
	struct audience               got,
	    row = {.id = {{4}}, .created = {77}, .name = span_str("All"), .members = members};
	wall_us since;
	for (row.count = 0; row.count < 2500; row.count++)
		members[row.count] = (struct audience_member){.pass = 3 * row.count,
		                                              .since = {row.count / 7}};
	cr_assert_eq(audience_row_put(s.view, account, &row), OK);
	scratch_save(&s);
	cr_assert_eq(audience_row_get(s.view, account, row.id, &got), OK);
	cr_expect(got.created.v == 77 && span_is(got.name, "All") && got.count == 2500);
	audience_members(&got, again);
	for (uint32_t i = 0; i < got.count; i++)
		cr_assert(audience_pass(&got, i) == 3 * i && again[i].pass == 3 * i &&
		          again[i].since.v == i / 7);
	for (uint32_t pass = 0; pass < 7501; pass++) {
		bool is = pass % 3 == 0 && pass < 7500;
		cr_assert(audience_has(&got, pass, &since) == is && (!is || since.v == pass / 3 / 7), "%u",
		          pass);
	}
	cr_expect_eq(audience_row_get(s.view, after, row.id, &got), ERR_NOT_FOUND);
}

Test(audience, is_left_by_members)
{
	static const struct audience_member members[] = {
	    {.pass = 1, .since = {5}}, {.pass = 2, .since = {6}}, {.pass = 9, .since = {7}}};
	struct audience got, row = {.id = {{4}}, .name = span_str("All"), .count = 3, .members = members};
	wall_us         since;
	cr_assert_eq(audience_row_put(s.view, account, &row), OK);
	scratch_save(&s);
	static const uint32_t order[] = {2, 9, 1};
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(audience_row_get(s.view, account, row.id, &got), OK);
		cr_assert_eq(audience_row_leave(s.view, account, &got, order[i]), OK);
		scratch_save(&s);
		cr_assert_eq(audience_row_get(s.view, account, row.id, &got), OK);
		cr_expect(got.count == 2 - i && span_is(got.name, "All"));
		cr_expect_not(audience_has(&got, order[i], &since));
		cr_expect(i == 2 || (audience_has(&got, 1, &since) && since.v == 5));
	}
}

Test(audience, is_listed_in_order_and_by_account)
{
	static struct audience_member many[1000];
	struct buffer                 room = {0};
	struct audience               got = {.id = {{0}}};
	for (uint32_t i = 0; i < 1000; i++)
		many[i].pass = i;
	for (uint8_t i = 1; i < 4; i++) {
		struct audience row = {
		    .id = {{i}}, .name = span_str("x"), .count = i == 2 ? 1000 : 1, .members = many};
		cr_assert_eq(audience_row_put(s.view, account, &row), OK);
		scratch_save(&s);
		cr_assert_eq(audience_row_put(s.view, after, &row), OK);
		scratch_save(&s);
	}
	for (uint8_t i = 1; i < 4; i++) {
		cr_assert_eq(audience_next(s.view, account, &room, &got), OK);
		cr_expect(got.id.b[0] == i && got.count == (i == 2 ? 1000 : 1));
	}
	cr_expect_eq(audience_next(s.view, account, &room, &got), ERR_NOT_FOUND);
	buffer_free(&room);
}

Test(audience, reports_damage)
{
	static const uint8_t good[] = {1, 5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 'A',
	                               3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0,
	                               0, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0};
	static const struct {
		size_t  at;
		uint8_t byte;
	} wrong[] = {{0, 2}, {9, 200}, {10, 1}, {11, 1}, {11, 3}, {20, 3}, {24, 1}, {36, 0}, {36, 2}};
	uint8_t         value[sizeof good];
	struct audience got;
	wall_us         since;
	cr_assert_eq(audience_read(span_of(good, sizeof good), &got), OK);
	cr_expect(got.count == 2 && audience_pass(&got, 1) == 4 && span_is(got.name, "A"));
	cr_expect(audience_has(&got, 3, &since) && since.v == 8);
	cr_expect(audience_has(&got, 4, &since) && since.v == 9);
	for (size_t size = 0; size < sizeof good; size++)
		cr_expect_eq(audience_read(span_of(good, size), &got), ERR_DAMAGED, "%zu bytes", size);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		memcpy(value, good, sizeof good);
		value[wrong[i].at] = wrong[i].byte;
		cr_expect_eq(audience_read(span_of(value, sizeof value), &got), ERR_DAMAGED, "byte %zu",
		             wrong[i].at);
	}
}
