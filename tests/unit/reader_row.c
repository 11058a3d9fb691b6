/* Rows of readers: found by id and by number, listed by id; rows that the program does not write are damage.
 * Also the limit of named readers. */
#include "actors/shard/command.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "schemas/api/reader.h"
#include "store/keys.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(reader_row);
static const struct account_id before = {{'a'}}, account = {{'b'}}, after = {{'c'}};

static struct reader_row some(uint32_t number, const char *id, const char *name)
{
	return (struct reader_row){.number = number,
	                           .scans = number * 3,
	                           .named = *name,
	                           .named_at = {*name ? number : 0},
	                           .id = span_str(id),
	                           .name = span_str(name)};
}

static void put(struct account_id of, struct reader_row row)
{
	cr_assert_eq(reader_row_put(s.view, of, &row), OK);
	scratch_save(&s);
}

static void expect_same(const struct reader_row *got, const struct reader_row *want)
{
	cr_expect(got->number == want->number && got->scans == want->scans);
	cr_expect_eq(got->named, want->named);
	cr_expect(span_equal(got->id, want->id) && span_equal(got->name, want->name));
	cr_expect_eq(got->named_at.v, want->named_at.v);
}

Test(reader_row, reads_as_it_was_put)
{
	struct reader_row got, plain = some(1, "door", ""), named = some(2, "", "Entrance");
	named.id = filler(7, READER_ID_BYTES_MAX);
	named.name = filler(8, READER_NAME_BYTES_MAX);
	put(account, plain);
	put(account, named);
	cr_assert_eq(reader_row_find(s.view, account, span_str("door"), &got), OK);
	expect_same(&got, &plain);
	cr_assert_eq(reader_row_find(s.view, account, named.id, &got), OK);
	expect_same(&got, &named);
	cr_assert_eq(reader_row_get(s.view, account, 2, &got), OK);
	expect_same(&got, &named);
	plain = some(1, "door", "Door");
	put(account, plain);
	cr_assert_eq(reader_row_get(s.view, account, 1, &got), OK);
	expect_same(&got, &plain);
	cr_expect_eq(reader_row_find(s.view, account, span_str("doo"), &got), ERR_NOT_FOUND);
	cr_expect_eq(reader_row_find(s.view, account, span_str("door2"), &got), ERR_NOT_FOUND);
	cr_expect_eq(reader_row_find(s.view, after, span_str("door"), &got), ERR_NOT_FOUND);
	cr_expect_eq(reader_row_get(s.view, account, 3, &got), ERR_DAMAGED);
}

Test(reader_row, named_ones_are_listed_by_id_and_account)
{
	static const char *const ids[] = {"b", "aa", "a", "\xc3\xa9", "B"}, *const want[] = {"B", "aa",
	                                                                                     "\xc3\xa9"};
	struct reader_row row = {.number = 0};
	for (uint32_t i = 0; i < 5; i++)
		put(account, some(i + 1, ids[i], i == 0 || i == 2 ? "" : "N"));
	put(before, some(1, "z", "N"));
	put(after, some(1, "0", "N"));
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(reader_name_next(s.view, account, &row), OK);
		cr_expect(span_is(row.id, want[i]), "%u", i);
		cr_expect(!strcmp(ids[row.number - 1], want[i]) && span_is(row.name, "N"));
	}
	cr_expect_eq(reader_name_next(s.view, account, &row), ERR_NOT_FOUND);
}

Test(reader_row, is_counted_and_can_be_deleted)
{
	struct reader_row got, row = some(1, "door", "");
	put(account, row);
	put(account, some(2, "till", "Till"));
	row.scans = 9;
	cr_assert_eq(reader_row_count(s.view, account, &row), OK);
	scratch_save(&s);
	cr_assert_eq(reader_row_find(s.view, account, row.id, &got), OK);
	expect_same(&got, &row);
	cr_assert_eq(reader_row_del(s.view, account, &row), OK);
	scratch_save(&s);
	cr_expect_eq(reader_row_find(s.view, account, row.id, &got), ERR_NOT_FOUND);
	cr_expect_eq(reader_row_get(s.view, account, 1, &got), ERR_DAMAGED);
	cr_expect_eq(reader_row_get(s.view, account, 2, &got), OK);
}

Test(reader_row, is_deleted_without_a_name_unless_a_scan_refers_to_it)
{
	struct reader_row got, idle = some(1, "idle", "Idle"), used = some(2, "used", "Used");
	idle.scans = 0;
	used.scans = 1;
	put(account, idle);
	put(account, used);
	cr_assert_eq(reader_name_del(s.view, account, &idle), OK);
	cr_assert_eq(reader_name_del(s.view, account, &used), OK);
	scratch_save(&s);
	cr_expect_eq(reader_row_find(s.view, account, idle.id, &got), ERR_NOT_FOUND);
	cr_assert_eq(reader_row_find(s.view, account, used.id, &got), OK);
	cr_expect(got.scans == 1 && !got.named && !got.name.size);
	got = (struct reader_row){.number = 0};
	cr_expect_eq(reader_name_next(s.view, account, &got), ERR_NOT_FOUND);
}

/* A command of the account `account`. */
static enum err command(handler_fn handler, const msgpack_object *args, struct outcome *outcome)
{
	struct account of = {.id = account};
	struct buffer  payload = {0};
	struct request request = {.args = args, .view = s.view, .account = &of, .now = {1}};
	*outcome = (struct outcome){.payload = &payload};
	enum err err = handler(&request, outcome);
	if (!err) scratch_save(&s);
	buffer_free(&payload);
	return err;
}

static enum err name_one(const char *id, struct outcome *outcome)
{
	msgpack_object args[ARGS_READER_PUT] = {
	    [ARG_READER_PUT_id] = value_text(id), [ARG_READER_PUT_name] = value_text("Name")};
	return command(on_READER_PUT, args, outcome);
}

static enum err delete_one(const char *id)
{
	struct outcome outcome;
	msgpack_object args[ARGS_READER_DELETE] = {[ARG_READER_DELETE_id] = value_text(id)};
	return command(on_READER_DELETE, args, &outcome);
}

Test(reader_row, named_ones_have_a_limit)
{
	struct scan_tally tally = {.readers = 1, .readers_named = READERS_NAMED_MAX - 1};
	struct outcome    outcome;
	cr_assert_eq(scan_tally_put(s.view, account, &tally), OK);
	put(account, some(1, "silent", ""));
	cr_expect_eq(name_one("last", &outcome), OK);
	cr_expect_eq(name_one("another", &outcome), ERR_INVALID_INPUT);
	cr_expect(span_is(outcome.field, "id"));
	cr_expect_eq(name_one("silent", &outcome), ERR_INVALID_INPUT, "it would have its first name");
	cr_expect_eq(name_one("last", &outcome), OK, "another name for a named reader");
	cr_assert_eq(scan_tally_get(s.view, account, &tally), OK);
	cr_expect(tally.readers == 2 && tally.readers_named == READERS_NAMED_MAX);
	cr_expect_eq(delete_one("last"), OK);
	cr_expect_eq(delete_one("last"), ERR_RESOURCE_NOT_FOUND);
	cr_expect_eq(name_one("silent", &outcome), OK, "there is room again");
}

Test(reader_row, reports_damage)
{
	struct reader_row row;
	struct row_key    id = key_account(account), number = key_u32(account, 1);
	struct span       value;
	uint8_t           bytes[64];
	id.bytes[id.size++] = 'x';
	put(account, some(1, "x", "Name"));
	cr_assert_eq(view_get(s.view, TABLE_READER_NAME, key_span(&id), &value), OK);
	memcpy(bytes, value.at, value.size);
	for (size_t size = 0; size <= 12; size++) /* the last byte: without a name */
		cr_expect_eq(reader_name_read(span_of(bytes, size), &row), ERR_DAMAGED, "%zu", size);
	cr_expect_eq(reader_name_read(span_of(bytes, value.size), &row), OK);
	bytes[0] = 0; /* number missing */
	cr_expect_eq(reader_name_read(span_of(bytes, value.size), &row), ERR_DAMAGED);
	for (size_t size = 0; size < 10; size++) {
		enum err want = size == 8 ? OK : ERR_DAMAGED;
		cr_expect_eq(reader_row_read(span_of("\1\0\0\0\2\0\0\0\0", size), &row), want, "%zu", size);
	}
	must(!write_put(&s.staged, TABLE_READER_NUMBER, key_span(&number), span_of("", 0)));
	cr_expect_eq(reader_row_get(s.view, account, 1, &row), ERR_DAMAGED);
	must(!write_put(&s.staged, TABLE_READER_NUMBER, key_span(&number), span_str("y")));
	cr_expect_eq(reader_row_get(s.view, account, 1, &row), ERR_DAMAGED);
	must(!write_put(&s.staged, TABLE_READER, key_span(&id), span_str("12345")));
	cr_expect_eq(reader_row_find(s.view, account, span_str("x"), &row), ERR_DAMAGED);
	must(!write_put(&s.staged, TABLE_READER, key_span(&id), span_of("\2\0\0\0\1\0\0\0", 8)));
	cr_expect_eq(reader_row_find(s.view, account, span_str("x"), &row), ERR_DAMAGED,
	             "its name belongs to another");
}
