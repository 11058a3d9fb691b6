/* Rows of notifications: they read as they were written; ends and counts; due ones in order; rows that the
 * program does not write are damage. Also the turns of accounts with due notifications, in commands that
 * write no more than they can. */
#include "tests/unit/support.h"

#include "actors/shard/command.h"
#include "actors/shard/notification/due.h"
#include "actors/shard/notification/notification.h"
#include "store/keys.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(notifications);
static struct shard_facts      facts;
static const struct account_id account = {{'b'}}, before = {{'a'}}, after = {{'c'}};

static struct notification some(uint8_t tag, const char *message)
{
	return (struct notification){
	    .id = {{tag}}, .pass_number = tag, .created = {tag}, .message = span_str(message)};
}

static void add(struct account_id of, uint8_t tag, int64_t scheduled)
{
	struct notification row = some(tag, "Hello Ñandú");
	cr_assert_eq(notification_add(s.view, of, &row, (wall_us){scheduled}), OK);
	scratch_save(&s);
}

static void finish(uint32_t number, enum notification_status status, int64_t sent)
{
	cr_assert_eq(notification_end(s.view, account, number, status, (wall_us){sent}), OK);
	scratch_save(&s);
}

Test(notifications, read_as_they_were_created)
{
	struct notification       got, row = some(7, "Hello");
	struct notification_state state;
	row.to_audience = true;
	row.pass_number = 0;
	row.audience = (struct uuid){{9, 8}};
	add(account, 1, 5);
	cr_assert_eq(notification_add(s.view, account, &row, (wall_us){-12}), OK);
	cr_assert_eq(notification_get(s.view, account, 1, &got), OK, "seen before it is saved");
	scratch_save(&s);
	cr_assert_eq(notification_get(s.view, account, 1, &got), OK);
	cr_expect(uuid_same(got.id, row.id) && got.to_audience && uuid_same(got.audience, row.audience));
	cr_expect(got.pass_number == 0 && got.created.v == 7 && span_equal(got.message, row.message));
	cr_assert_eq(notification_state_get(s.view, account, 1, &state), OK);
	cr_expect(state.status == NOTIFICATION_SCHEDULED && state.scheduled.v == -12 && state.sent.v == 0);
	cr_expect_eq(notification_get(s.view, account, 2, &got), ERR_NOT_FOUND);
	cr_expect_eq(notification_state_get(s.view, account, 2, &state), ERR_NOT_FOUND);
	cr_expect_eq(notification_get(s.view, before, 0, &got), ERR_NOT_FOUND);
}

Test(notifications, end_once_and_are_counted)
{
	struct notification_state state;
	struct notification_tally tally;
	for (uint8_t i = 0; i < 130; i++)
		add(account, i, i);
	finish(0, NOTIFICATION_SENT, 500);
	finish(129, NOTIFICATION_FAILED, 0);
	finish(70, NOTIFICATION_SENT, 501);
	cr_assert_eq(notification_tally_get(s.view, account, &tally), OK);
	cr_expect(tally.made == 130 && tally.counts[0] == 127 && tally.counts[1] == 2 &&
	          tally.counts[2] == 1);
	cr_assert_eq(notification_state_get(s.view, account, 70, &state), OK);
	cr_expect(state.status == NOTIFICATION_SENT && state.sent.v == 501 && state.scheduled.v == 70);
	cr_expect_eq(notification_end(s.view, account, 70, NOTIFICATION_SENT, (wall_us){1}), ERR_DAMAGED);
	cr_expect_eq(notification_end(s.view, account, 130, NOTIFICATION_SENT, (wall_us){1}), ERR_DAMAGED);
	cr_assert_eq(notification_tally_get(s.view, after, &tally), OK);
	cr_expect(tally.made == 0 && tally.counts[0] == 0);
}

Test(notifications, a_cancelled_one_leaves_an_empty_place)
{
	struct notification       got;
	struct notification_state state;
	struct notification_tally tally;
	struct notification_due   due = {.account = account, .at = {INT64_MIN}};
	for (uint8_t i = 0; i < 3; i++)
		add(account, i, i);
	finish(0, NOTIFICATION_CANCELLED, 0);
	cr_assert_eq(notification_tally_get(s.view, account, &tally), OK);
	cr_expect(tally.made == 3 && tally.counts[0] == 2 && tally.counts[1] + tally.counts[2] == 0);
	cr_assert_eq(notification_state_get(s.view, account, 0, &state), OK);
	cr_expect_eq(state.status, NOTIFICATION_CANCELLED);
	cr_assert_eq(notification_get(s.view, account, 0, &got), OK);
	cr_expect_eq(got.message.size, 0);
	cr_assert_eq(notification_due_from(s.view, &due), OK);
	cr_expect_eq(due.number, 1);
	cr_expect_eq(notification_end(s.view, account, 0, NOTIFICATION_SENT, (wall_us){1}), ERR_DAMAGED);
}

static struct uuid id_at(int64_t at, uint8_t which)
{
	return uuid_v7((wall_us){at}, (const uint8_t[10]){[9] = which});
}

/* Many may be created in one microsecond. Ids of other accounts and other times are not found. */
Test(notifications, are_found_by_their_ids)
{
	static const int64_t times[] = {5, 1000, 1000, 1000, 1000000, 1000001};
	enum { COUNT = sizeof times / sizeof *times };
	uint32_t number;
	cr_expect_eq(notification_find(s.view, account, id_at(5, 1), &number), ERR_NOT_FOUND);
	for (uint8_t i = 0; i < COUNT; i++) {
		struct notification row = some(0, "Hello");
		row.created.v = times[i];
		row.id = id_at(times[i], (uint8_t)(9 - i)); /* within one moment in any order */
		cr_assert_eq(notification_add(s.view, account, &row, (wall_us){1}), OK);
		scratch_save(&s);
	}
	for (uint8_t i = 0; i < COUNT; i++) {
		struct uuid id = id_at(times[i], (uint8_t)(9 - i)), other = id_at(times[i], 1),
		            earlier = id_at(times[i] - 1, (uint8_t)(9 - i));
		cr_assert_eq(notification_find(s.view, account, id, &number), OK);
		cr_expect_eq(number, i);
		cr_expect_eq(notification_find(s.view, account, other, &number), ERR_NOT_FOUND);
		cr_expect_eq(notification_find(s.view, account, earlier, &number), ERR_NOT_FOUND);
	}
	cr_expect_eq(notification_find(s.view, account, id_at(2000000, 4), &number), ERR_NOT_FOUND);
	cr_expect_eq(notification_find(s.view, before, id_at(5, 9), &number), ERR_NOT_FOUND);
}

Test(notifications, several_end_in_one_command)
{
	struct notification_tally tally;
	struct notification_due   due = {.account = account, .at = {INT64_MIN}};
	for (uint8_t i = 0; i < 64; i++)
		add(account, i, i);
	for (uint32_t i = 0; i < 60; i++)
		cr_assert_eq(notification_end(s.view, account, i, NOTIFICATION_SENT, (wall_us){99}), OK);
	cr_expect_eq(s.staged.count, 62, "the due row, one row of columns, the counts");
	scratch_save(&s);
	cr_assert_eq(notification_tally_get(s.view, account, &tally), OK);
	cr_expect(tally.counts[NOTIFICATION_SENT] == 60 && tally.counts[NOTIFICATION_SCHEDULED] == 4);
	cr_assert_eq(notification_due_from(s.view, &due), OK);
	cr_expect_eq(due.number, 60);
}

Test(notifications, come_due_in_order)
{
	static const int64_t    times[] = {INT64_MIN, -5, -1, 0, 1, 1, 1000, INT64_MAX};
	static const uint8_t    places[] = {3, 0, 7, 4, 1, 6, 5, 2};
	struct notification_due due = {.account = account, .at = {INT64_MIN}};
	for (uint8_t i = 0; i < 8; i++)
		add(account, i, times[places[i]]);
	add(before, 1, 5);
	add(after, 1, 6);
	cr_assert_eq(notification_due_from(s.view, &due), OK);
	for (uint8_t i = 0; i < 8; i++) {
		cr_expect_eq(due.at.v, times[i]);
		cr_expect_eq(places[due.number], i, "those of one time in order of creation");
		cr_assert_eq(notification_due_next(s.view, &due), OK);
	}
	cr_expect(due.account.b[0] == 'c' && due.at.v == 6);
	cr_expect_eq(notification_due_next(s.view, &due), ERR_NOT_FOUND);
}

/* Searching --------------------------------------------------------------------------------------------------- */

static struct selection select_needles(void)
{
	struct account             of = {.id = account};
	struct call                call = {.deadline = {INT64_MAX}};
	struct request             request = {.call = &call, .view = s.view, .account = &of};
	struct notification_filter filter = {.scheduled = {{INT64_MIN}, {INT64_MAX}},
	                                     .q = span_str("needle")};
	struct selection           selection;
	cr_assert_eq(select_notifications(&request, &filter, &selection), OK);
	return selection;
}

/* Messages too long to be searched in blocks are read one by one, in the memory of one. */
Test(notifications, long_messages_are_searched_in_the_memory_of_one)
{
	static char text[8000];
	memset(text, 'x', sizeof text);
	for (uint8_t i = 0; i < 64; i++) {
		struct notification row = some(i, "x");
		memcpy(text + 7000, i % 16 ? "nothing" : "Needle!", 7);
		row.message = span_of(text, sizeof text);
		cr_assert_eq(notification_add(s.view, account, &row, (wall_us){i}), OK);
		scratch_save(&s);
	}
	arena_take(&s.arena, 1); /* its first block */
	const struct arena_block *block = s.arena.blocks;
	struct selection          selection = select_needles();
	cr_expect(selection.total == 4 && selection.bits[0] == UINT64_C(0x0001000100010001));
	cr_expect_eq(s.arena.blocks, block, "no more than the selection itself");
}

Test(notifications, erased_messages_are_empty_and_not_found)
{
	uint32_t number;
	for (uint8_t i = 0; i < NOTICES + 9; i++) {
		struct notification row = some(i, "Needles");
		cr_assert_eq(notification_add(s.view, account, &row, (wall_us){i}), OK);
		scratch_save(&s);
	}
	for (uint8_t i = 3; i < NOTICES + 9; i++) {
		struct notification row;
		cr_assert_eq(notification_blank(s.view, account, i), OK);
		scratch_save(&s);
		cr_assert_eq(notification_get(s.view, account, i, &row), OK);
		cr_expect(row.message.size == 0 && row.created.v == i && row.id.b[0] == i);
		cr_expect_eq(select_needles().total, NOTICES + 8u - i + 3);
	}
	cr_expect_eq(notification_blank(s.view, account, NOTICES + 9), ERR_NOT_FOUND);
	for (uint8_t i = 0; i < NOTICES + 9; i++)
		cr_expect(!notification_since(s.view, account, (wall_us){i}, &number) && number == i);
	cr_expect(!notification_since(s.view, account, (wall_us){INT64_MIN}, &number) && number == 0);
	cr_expect(!notification_since(s.view, account, (wall_us){200}, &number) && number == NOTICES + 9);
	cr_expect(!notification_since(s.view, (struct account_id){{9}}, (wall_us){0}, &number) &&
	          number == 0);
}

/* With `q` alone no columns are read. */
Test(notifications, are_all_searched_without_another_filter)
{
	for (uint8_t i = 0; i < 2 * NOTICES + 5; i++) {
		struct notification row = some(i, i % 2 ? "Needles" : "nothing");
		cr_assert_eq(notification_add(s.view, account, &row, (wall_us){i}), OK);
		scratch_save(&s);
		struct selection selection = select_needles();
		cr_expect_eq(selection.total, (i + 1u) / 2, "of %u", i + 1u);
		cr_expect_eq(selection.bits[i / NOTICES] >> i % NOTICES & 1, i % 2, "the last of %u", i + 1u);
	}
}

/* The formats byte for byte, and violations of them. */
Test(notifications, rows_are_as_they_are_described)
{
	struct buffer       value = {0};
	struct notification row = some(3, "Hi"), got;
	struct span         hot;
	struct row_key      key = key_u32(account, 0);
	notification_write(&row, &value);
	static const uint8_t head[] = {1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3};
	cr_assert_eq(value.size, 48);
	cr_expect_arr_eq(value.at, head, sizeof head);
	cr_expect(value.at[26] == 3 && !memcmp(value.at + 46, "Hi", 2));
	for (size_t size = 0; size < 46; size++)
		cr_expect_eq(notification_read(span_of(value.at, size), &got), ERR_DAMAGED, "%zu bytes",
		             size);
	cr_expect_eq(notification_read(span_of(value.at, 46), &got), OK); /* an erased message */
	cr_expect_eq(got.message.size, 0);
	value.at[0] = 2;
	cr_expect_eq(notification_read(buffer_span(&value), &got), ERR_DAMAGED);
	value.at[0] = 1, value.at[1] = 2;
	cr_expect_eq(notification_read(buffer_span(&value), &got), ERR_DAMAGED);
	buffer_free(&value);
	add(account, 1, 258);
	add(account, 1, -1);
	finish(1, NOTIFICATION_SENT, 772);
	cr_assert_eq(view_get(s.view, TABLE_NOTIFICATION_HOT, key_span(&key), &hot), OK);
	static const uint8_t counts[] = {1, 1, 0, 2, 0, 0, 0, 0, 0xff};
	cr_assert_eq(hot.size, 1112);
	cr_expect_arr_eq(hot.at, counts, sizeof counts);
	cr_expect(hot.at[16] == 2 && hot.at[17] == 1 && hot.at[24] == 0 && hot.at[25] == 1);
	cr_expect(hot.at[88] == 2 && hot.at[89] == 1 && hot.at[96] == 0xff && hot.at[608] == 4 &&
	          hot.at[609] == 3);
}

Test(notifications, invalid_rows_are_damage)
{
	struct notification_state state;
	struct notification_tally tally;
	struct notification       row = some(1, "x");
	struct row_key            key = key_u32(account, 0), counts = key_account(account);
	must(!write_put(&s.staged, TABLE_NOTIFICATION_HOT, key_span(&key), filler(1, 1111)));
	scratch_save(&s);
	cr_expect_eq(notification_state_get(s.view, account, 0, &state), ERR_DAMAGED);
	cr_expect_eq(notification_add(s.view, account, &row, (wall_us){0}), ERR_DAMAGED);
	s.staged = writes_none(&s.arena);
	must(!write_put(&s.staged, TABLE_NOTIFICATION_TALLY, key_span(&counts), filler(1, 15)));
	scratch_save(&s);
	cr_expect_eq(notification_tally_get(s.view, account, &tally), ERR_DAMAGED);
	struct notification_due due;
	cr_expect_eq(notification_due_read(filler(1, 21), &due), ERR_DAMAGED);
	cr_expect_str_eq(notification_status_text(9), "unknown");
	cr_expect_str_eq(notification_status_text(NOTIFICATION_CANCELLED), "cancelled");
}

/* Turns -------------------------------------------------------------------------------------------------------- */

static struct due_queue queue;

/* As in a shard: the queue is notified of writes that are in the tables. */
static void save_and_see(void)
{
	struct view *view = s.view;
	for (unsigned i = 0; i < s.staged.count; i++)
		must(!db_apply(s.db, &s.staged.rows[i], false));
	struct writes kept = s.staged;
	s.staged = writes_none(&s.arena);
	cr_assert_eq(due_on_writes(&queue, &kept, view), OK);
	arena_reset(&s.arena);
}

static void add_seen(struct account_id of, int64_t at)
{
	struct notification row = some(1, "x");
	cr_assert_eq(notification_add(s.view, of, &row, (wall_us){at}), OK);
	save_and_see();
}

/* The letters of the accounts whose turn comes in a command with room for `room` of them. */
static const char *turns(int64_t now, size_t room)
{
	static char               packets[8];
	const struct due_account *found;
	size_t                    count = 0;
	bool                      alone;
	due_turn_begin(&queue);
	while (count < room && (found = due_turn(&queue, (wall_us){now}, &alone))) {
		packets[count++] = (char)found->id.b[0];
	}
	packets[count] = '\0';
	return packets;
}

Test(notifications, accounts_take_turns)
{
	add_seen(account, 10);
	add_seen(account, 5);
	add_seen(after, 7);
	cr_expect_str_eq(turns(4, 7), "");
	for (int64_t now = 10; now < 20; now += 2) {
		cr_expect_str_eq(turns(now, 1), "b");
		cr_expect_str_eq(turns(now + 1, 1), "c");
	}
	add_seen(before, 12);
	cr_expect_str_eq(turns(20, 1), "a", "it has had none yet");
	cr_expect_str_eq(turns(21, 2), "bc");
	cr_expect_str_eq(turns(22, 7), "abc");
	unsigned had = 0;
	for (unsigned i = 0; i < 3; i++)
		had |= 1u << (turns(22, 1)[0] - 'a');
	cr_expect_eq(had, 7, "though no time has passed");
	due_free(&queue);
	cr_assert_eq(due_load(&queue, s.view), OK);
	cr_expect_str_eq(turns(11, 7), "bc");
	due_free(&queue);
}

Test(notifications, an_account_without_due_ones_leaves_the_queue)
{
	add_seen(account, 5);
	add_seen(account, 50);
	cr_assert_eq(notification_end(s.view, account, 0, NOTIFICATION_SENT, (wall_us){6}), OK);
	save_and_see();
	cr_expect_str_eq(turns(49, 7), "");
	cr_expect_str_eq(turns(50, 7), "b");
	cr_assert_eq(notification_end(s.view, account, 1, NOTIFICATION_SENT, (wall_us){51}), OK);
	save_and_see();
	cr_expect_str_eq(turns(1000, 7), "");
	cr_expect_eq(queue.turns.count, 0);
	due_free(&queue);
}

Test(notifications, a_thousand_accounts_are_in_order)
{
	bool alone;
	for (uint32_t i = 0; i < 1000; i++) {
		struct account_id id = {{(uint8_t)(i >> 8), (uint8_t)i}};
		add_seen(id, (int64_t)(i * 7919 % 1000));
	}
	for (int64_t now = 0; now < 1000; now += 111) {
		const struct due_account *found;
		int64_t                   count = 0;
		due_turn_begin(&queue);
		while ((found = due_turn(&queue, (wall_us){now}, &alone)))
			count++;
		cr_expect_eq(count, now + 1);
	}
	due_free(&queue);
	cr_assert_eq(due_load(&queue, s.view), OK);
	cr_expect_eq(queue.turns.count, 1000);
	due_free(&queue);
}

/* Sending ------------------------------------------------------------------------------------------------------ */

/* Carries out one command. Returns the number of ended notifications. */
static unsigned send_some(int64_t now, bool *more)
{
	struct buffer  payload = {0};
	struct outcome outcome = {.payload = &payload};
	struct request request = {.view = s.view, .notices = &queue, .now = {now}, .facts = &facts};
	unsigned       ended = 0;
	cr_assert_eq(on_NOTIFICATION_SEND(&request, &outcome), OK);
	cr_expect_leq(s.staged.count, (unsigned)BULK_WRITES_MAX, "%u writes", s.staged.count);
	for (unsigned i = 0; i < s.staged.count; i++)
		ended += s.staged.rows[i].table == TABLE_NOTIFICATION_DUE;
	*more = payload.at[0] == 0xc3;
	buffer_free(&payload);
	save_and_see();
	return ended;
}

/* To an unknown audience; it ends too. */
static void add_many(struct account_id of, unsigned count, int64_t apart, int64_t again)
{
	for (unsigned i = 0; i < count; i++) {
		struct notification row = {.id = {{1}}, .to_audience = true, .message = span_str("x")};
		row.audience.b[0] = 1;
		cr_assert_eq(notification_add(s.view, of, &row, (wall_us){1 + i * apart % again}), OK);
		save_and_see();
	}
}

Test(notifications, a_command_ends_as_many_as_it_can_write)
{
	bool more;
	add_many(account, 200, 1, INT64_MAX);
	cr_expect_geq(send_some(1000, &more), 55, "neighbours share a row");
	cr_expect(more);
	for (unsigned left = 10; more && left; left--)
		(void)send_some(1000, &more);
	cr_expect(!more && queue.turns.count == 0);
	due_free(&queue);
}

/* Each is in a different row than the one before. */
Test(notifications, a_command_counts_separate_rows)
{
	bool more = true;
	add_many(account, 250, 63, 250);
	for (unsigned left = 20; more && left; left--)
		(void)send_some(1000, &more);
	cr_expect(!more && queue.turns.count == 0);
	due_free(&queue);
}

Test(notifications, one_account_is_not_delayed_by_many_of_another)
{
	bool more;
	add_many(account, 200, 1, INT64_MAX);
	add_many(after, 1, 1, INT64_MAX);
	cr_expect_eq(send_some(1000, &more), 9);
	cr_expect_eq(queue.turns.count, 1, "the other has nothing left");
	cr_expect_geq(send_some(1000, &more), 55, "no account waits");
	due_free(&queue);
}
