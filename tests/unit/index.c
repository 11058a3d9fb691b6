/* The index: after any additions and renames the chunks of both orders hold every pass once, in order and
 * after their bounds, and no chunk is left over. */
#include "store/index.h"

#include "schemas/fold.h"
#include "store/chunk.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { PASSES_MAX = 2500, TEXT_MAX = 20 };

SCRATCH_SUITE(index, .timeout = 120);
static const struct account_id account = {{'i', 'x'}}, other = {{'i', 'y'}};
static char                    ids[PASSES_MAX][TEXT_MAX], names[PASSES_MAX][TEXT_MAX];
static uint32_t                made;

static struct body body_of(uint32_t number, char visible[64])
{
	snprintf(visible, 64, "{\"n\":\"%s\"}", names[number]);
	return (struct body){
	    .pass_id = span_str(ids[number]), .visible = span_str(visible), .hidden = span_str("{}")};
}

static void put(struct account_id of, uint32_t number, const struct body *before, const struct body *after)
{
	struct index_change change = {
	    .account = of, .number = number, .name_field = span_str("n"), .before = before, .after = after};
	struct row_key key = key_u32(of, number);
	struct buffer  bytes = {0};
	cr_assert_eq(index_put(s.view, &change), OK);
	body_pack(after, &bytes);
	cr_assert_eq(write_put(&s.staged, TABLE_BODY, key_span(&key), buffer_span(&bytes)), OK);
	buffer_free(&bytes);
	scratch_save(&s);
}

static void add(const char *id, const char *name)
{
	char visible[64];
	snprintf(ids[made], TEXT_MAX, "%s", id);
	snprintf(names[made], TEXT_MAX, "%s", name);
	struct body body = body_of(made, visible);
	put(account, made++, NULL, &body);
}

static void rename_to(uint32_t number, const char *name)
{
	char        visible[2][64];
	struct body before = body_of(number, visible[0]);
	snprintf(names[number], TEXT_MAX, "%s", name);
	struct body after = body_of(number, visible[1]);
	put(account, number, &before, &after);
}

static void move_to(uint32_t number, const char *id)
{
	char        visible[64], old[TEXT_MAX];
	struct body before = body_of(number, visible);
	memcpy(old, ids[number], sizeof old);
	before.pass_id = span_str(old);
	snprintf(ids[number], TEXT_MAX, "%s", id);
	struct body after = body_of(number, visible);
	put(account, number, &before, &after);
}

/* Looking ------------------------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int      order = strcmp(ids[x], ids[y]);
	return order ? order : (x > y) - (x < y);
}

static int compare_names(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int      order = strcmp(names[x], names[y]); /* they are already folded */
	return order ? order : (x > y) - (x < y);
}

static struct row_key place_of(enum table table, uint32_t number)
{
	return table == TABLE_ID_ORDER ? key_id_order(account, span_str(ids[number]), number)
	                               : key_name(account, span_str(names[number]), number);
}

static bool is_before(const struct row_key *a, struct span b)
{
	size_t size = a->size < b.size ? a->size : b.size;
	int    order = memcmp(a->bytes, b.at, size);
	return order ? order < 0 : a->size < b.size;
}

static unsigned expect_order(enum table table)
{
	static uint32_t want[PASSES_MAX];
	struct row_key  prefix = key_account(account);
	struct view_row row;
	uint32_t        at = 0;
	unsigned        rows = 0;
	for (uint32_t i = 0; i < made; i++)
		want[i] = i;
	qsort(want, made, sizeof *want, table == TABLE_ID_ORDER ? compare_ids : compare_names);
	enum err err = view_from(s.view, table, key_span(&prefix), &row);
	for (; !err && key_has_prefix(row.key, key_span(&prefix)); err = view_next(s.view, table, &row)) {
		cr_assert(chunk_row_is_whole(row.value));
		cr_assert(rows == 0 ? row.key.size == prefix.size : chunk_row_count(row.value) > 0);
		if (at > 0) {
			struct row_key last = place_of(table, want[at - 1]);
			cr_assert(is_before(&last, row.key), "row %u begins too early", rows);
		}
		for (unsigned i = 0; i < chunk_row_count(row.value); i++, at++) {
			struct row_key place = place_of(table, want[at]);
			if (i == 0 && rows) cr_assert(span_equal(key_span(&place), row.key), "row %u", rows);
			cr_assert_eq(chunk_row_number(row.value, i), want[at], "place %u", at);
			cr_assert_not(is_before(&place, row.key), "place %u is before its row's bound", at);
		}
		rows++;
	}
	cr_assert_eq(at, made);
	return rows;
}

/* Few letters, so that many passes share a name and many ids are equal. */
static const char *any_text(uint64_t *state, unsigned packets, unsigned size)
{
	static char text[TEXT_MAX];
	unsigned    length = chance_below(state, size + 1);
	for (unsigned i = 0; i < length; i++)
		text[i] = (char)('a' + chance_below(state, packets));
	text[length] = 0;
	return text;
}

Test(index, keeps_every_order_through_additions_and_renames)
{
	uint64_t state = chance_begin();
	char     id[TEXT_MAX];
	while (made < PASSES_MAX) {
		snprintf(id, sizeof id, "p%.7s", any_text(&state, 3, 7));
		add(id, any_text(&state, 3, 6));
		for (unsigned i = chance_below(&state, 3); i > 0; i--)
			rename_to(chance_below(&state, made), any_text(&state, 3, 6));
		if (made % 250) continue;
		cr_expect_gt(expect_order(TABLE_ID_ORDER), made / CHUNK_PASSES);
		cr_expect_gt(expect_order(TABLE_NAME_ORDER), made / CHUNK_PASSES);
	}
}

/* An abandoned id is in no key. Its position among equal ids is found again. */
Test(index, moves_passes_to_other_ids)
{
	uint64_t state = chance_begin();
	char     id[TEXT_MAX], gone[TEXT_MAX];
	for (unsigned i = 0; i < 900; i++) {
		snprintf(id, sizeof id, "p%.3s", any_text(&state, 3, 3));
		add(id, any_text(&state, 2, 3));
	}
	for (unsigned i = 0; i < 900; i++) {
		uint32_t number = chance_below(&state, made), newest = number;
		for (uint32_t other_one = number; other_one < made; other_one++)
			if (!strcmp(ids[other_one], ids[number])) newest = other_one;
		snprintf(gone, sizeof gone, "%s", ids[newest]);
		snprintf(id, sizeof id, "%c%06u", "azpq"[chance_below(&state, 4)], i);
		move_to(newest, id);
		struct row_key  key = key_pass_id(account, span_str(gone), newest);
		struct view_row row;
		cr_assert_eq(view_get(s.view, TABLE_PASS_ID, key_span(&key), &row.value), ERR_NOT_FOUND);
		if (i % 60) continue;
		expect_order(TABLE_ID_ORDER);
		expect_order(TABLE_NAME_ORDER);
	}
	expect_order(TABLE_ID_ORDER);
}

Test(index, fills_rows_when_passes_are_added_in_order)
{
	char id[TEXT_MAX];
	while (made < 1000) {
		snprintf(id, sizeof id, "p%04u", made);
		add(id, id);
	}
	cr_expect_eq(expect_order(TABLE_ID_ORDER), 1000 / CHUNK_PASSES + 1);
	cr_expect_eq(expect_order(TABLE_NAME_ORDER), 1000 / CHUNK_PASSES + 1);
}

Test(index, accepts_passes_in_reverse_order)
{
	char id[TEXT_MAX];
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(id, sizeof id, "p%04u", 1000 - i);
		add(id, id);
	}
	expect_order(TABLE_ID_ORDER);
	expect_order(TABLE_NAME_ORDER);
}

Test(index, deletes_empty_rows_and_creates_them_again)
{
	char name[TEXT_MAX];
	for (unsigned i = 0; i < 600; i++) {
		snprintf(name, sizeof name, "n%04u", i);
		add(name, name);
	}
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < made; i++)
			rename_to(i, "all");
		expect_order(TABLE_NAME_ORDER);
		for (uint32_t i = 0; i < made; i++) {
			snprintf(name, sizeof name, "n%04u", i * 7 % made);
			rename_to(i, name);
		}
		expect_order(TABLE_NAME_ORDER);
	}
}

Test(index, is_independent_of_neighbours)
{
	char        visible[64];
	struct body body;
	snprintf(ids[0], TEXT_MAX, "a");
	snprintf(names[0], TEXT_MAX, "a");
	body = body_of(0, visible);
	put(other, 0, NULL, &body);
	for (unsigned i = 0; i < 300; i++)
		add("same", "same");
	expect_order(TABLE_ID_ORDER);
	expect_order(TABLE_NAME_ORDER);
}
