/* Lists in parts: every item once and in order, parts of limited size, and the last part with the counts. */
#include "actors/shard/list/list_out.h"

#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

enum { PARTS_MAX = 64 };

static struct buffer payload;
static struct {
	struct buffer bytes[PARTS_MAX];
	unsigned      count;
} parts;

static enum err keep_part(void *user, struct buffer *part)
{
	cr_assert_eq(user, &parts);
	cr_assert_lt(parts.count, PARTS_MAX);
	buffer_append(&parts.bytes[parts.count++], part->at, part->size);
	buffer_clear(part);
	return OK;
}

static struct outcome outcome = {.payload = &payload, .part = keep_part, .part_user = &parts};

static void end(void)
{
	buffer_free(&payload);
	for (unsigned i = 0; i < PARTS_MAX; i++)
		buffer_free(&parts.bytes[i]);
}

TestSuite(list_out, .fini = end);

/* Items are numbered from `next`; each has the filler of its number. Returns the next number. */
static unsigned expect_items(const msgpack_object *list, unsigned next, size_t size)
{
	cr_assert_eq(list->type, MSGPACK_OBJECT_ARRAY);
	for (uint32_t i = 0; i < list->via.array.size; i++, next++) {
		const msgpack_object *item = &list->via.array.ptr[i];
		cr_assert_eq(item->type, MSGPACK_OBJECT_BIN);
		cr_assert(span_equal(span_of(item->via.bin.ptr, item->via.bin.size), filler(next, size)),
		          "item %u", next);
	}
	return next;
}

static void list_of(unsigned count, size_t size, unsigned want_parts)
{
	struct list_out list;
	msgpack_zone    zone;
	unsigned        next = 0;
	list_begin(&list, &outcome);
	for (unsigned i = 0; i < count; i++) {
		msgpack_packer pk = buffer_packer(list_item(&list));
		pack_bin(&pk, filler(i, size));
	}
	cr_assert_eq(list_end(&list, count + 1000u, count % 2), OK);
	cr_expect_eq(parts.count, want_parts);
	cr_assert(msgpack_zone_init(&zone, 8192));
	for (unsigned i = 0; i < parts.count; i++) {
		msgpack_object part = value_unpacked(&parts.bytes[i], &zone);
		cr_expect_lt(parts.bytes[i].size, REPLY_PART_BYTES_MAX + size + 16);
		cr_expect_geq(parts.bytes[i].size, REPLY_PART_BYTES_MAX);
		next = expect_items(&part, next, size);
	}
	msgpack_object last = value_unpacked(&payload, &zone);
	cr_assert(last.type == MSGPACK_OBJECT_ARRAY && last.via.array.size == 3);
	next = expect_items(&last.via.array.ptr[0], next, size);
	cr_expect_eq(next, count);
	cr_expect_eq(last.via.array.ptr[1].via.u64, count + 1000u);
	cr_expect_eq(last.via.array.ptr[2].type, MSGPACK_OBJECT_BOOLEAN);
	cr_expect_eq(last.via.array.ptr[2].via.boolean, count % 2);
	msgpack_zone_destroy(&zone);
	list_drop(&list); /* a second call is harmless */
}

Test(list_out, without_items_is_one_empty_part)
{
	list_of(0, 10, 0);
}

Test(list_out, of_few_items_is_one_part)
{
	list_of(100, 1000, 0);
}

Test(list_out, that_just_reaches_the_bound_waits_for_one_more)
{
	list_of(REPLY_PART_BYTES_MAX / 65536, 65536, 0);
}

Test(list_out, of_many_items_is_sent_in_parts)
{
	list_of(100, 60000, 99 / (REPLY_PART_BYTES_MAX / 60000 + 1));
}

Test(list_out, of_the_largest_passes_is_sent_one_by_one)
{
	list_of(9, PASS_STORED_BYTES_MAX, 8);
}

Test(list_out, that_ran_out_of_memory_is_an_error)
{
	struct list_out list;
	list_begin(&list, &outcome);
	msgpack_packer pk = buffer_packer(list_item(&list));
	pack_bin(&pk, span_str("x"));
	list.items.failed = true;
	cr_expect_eq(list_end(&list, 1, false), ERR_NO_MEMORY);
	list_begin(&list, &outcome);
	payload.failed = true;
	cr_expect_eq(list_end(&list, 1, false), ERR_NO_MEMORY);
}

Test(list_out, without_pages_has_a_limit)
{
	struct list_out list;
	struct call     call = {.deadline = {INT64_MAX}};
	struct request  request = {.call = &call};
	buffer_clear(&payload);
	list_begin(&list, &outcome);
	cr_assert_eq(list_may_go_on(&list, &request), OK);
	for (unsigned i = 0; i < 3; i++) {
		size_t before = list.sent;
		while (list.sent == before) {
			msgpack_packer pk = buffer_packer(list_item(&list));
			msgpack_pack_bin(&pk, 60000);
			for (unsigned byte = 0; byte < 60000; byte++)
				buffer_byte(&list.items, 0);
		}
		cr_assert_geq(list.sent - before, REPLY_PART_BYTES_MAX);
	}
	cr_assert_eq(list_may_go_on(&list, &request), OK);
	list.sent = LIST_BYTES_MAX;
	cr_expect_eq(list_may_go_on(&list, &request), ERR_OVERLOADED);
	list.sent = 0;
	call.deadline.v = 0;
	cr_expect_eq(list_may_go_on(&list, &request), ERR_OVERLOADED);
	list_drop(&list);
}
