/* Memory for answers: its size, which answers may use it, and which calls wait for it. */
#include "actors/shard/engine/window.h"

#include "actors/rt/time.h"
#include "schemas/limits.h"
#include "tests/unit/patience.h"

#include <criterion/criterion.h>
#include <unistd.h>

enum {
	MIB = 1 << 20,
	LISTS_OWN = SESSION_LIST_BYTES,
	LISTS_FULL = LISTS_OWN + MIB,
	READS_OWN = SESSION_ANSWER_BYTES - 2 * ANSWER_RESERVED_BYTES
};

static struct windows all;
static struct window *window;

static void begin(void)
{
	all = (struct windows){.max = ANSWERS_SHARD_BYTES_MAX};
	window = window_new(&all, SESSION_ANSWER_BYTES);
}

static void end(void)
{
	window_leave(&window);
	cr_expect_eq(all.held, 0);
}

TestSuite(window, .init = begin, .fini = end);

static mono_us soon(int64_t ms)
{
	return mono_after(time_mono(), (dur_us){ms * US_PER_MS});
}

Test(window, leaves_room_for_writes_when_there_is_none_for_reads)
{
	window_add_list(window, LISTS_OWN);
	cr_expect(window_fits(window, WINDOW_LIST, 4 * MIB), "as large as it is");
	window_add_list(window, 1);
	cr_expect_not(window_fits(window, WINDOW_LIST, 1));
	cr_expect(window_fits(window, WINDOW_READ, MIB));
	window_add(window, READS_OWN - LISTS_OWN - 1);
	cr_expect_not(window_fits(window, WINDOW_READ, 1));
	cr_expect(window_fits(window, WINDOW_WRITE, ANSWER_RESERVED_BYTES));
	window_add(window, 2 * ANSWER_RESERVED_BYTES - 1);
	cr_expect_not(window_fits(window, WINDOW_WRITE, ANSWER_RESERVED_BYTES));
}

Test(window, other_answers_on_their_way_do_not_stop_lists)
{
	window_add(window, READS_OWN - MIB);
	cr_expect(window_fits(window, WINDOW_LIST, MIB));
	cr_expect_not(window_fits(window, WINDOW_LIST, MIB + 1));
}

static void send_list(size_t size)
{
	window_add_list(window, size);
	window_sent_list(window, size);
}

/* Their frames are among others. */
Test(window, counts_lists_until_the_peer_has_received_them)
{
	send_list(100);
	window_add(window, 1000);
	window_sent(window, 1000);
	send_list(10);
	cr_expect_eq(window->lists, 110);
	cr_expect(window_received(window, 99));
	cr_expect_eq(window->lists, 110, "not the whole frame");
	cr_expect(window_received(window, 1100));
	cr_expect_eq(window->lists, 10);
	cr_expect(window_received(window, 1110));
	cr_expect_eq(window->lists, 0);
	window_add_list(window, 7);
	window_drop_list(window, 7);
	cr_expect_eq(window->lists, 0);
	cr_expect_eq(window->held, 0);
}

Test(window, counts_more_lists_than_it_has_marks)
{
	for (unsigned round = 0; round < 3; round++) {
		uint64_t begun = window->sent;
		for (unsigned i = 0; i < 3 * WINDOW_MARKS; i++)
			send_list(10);
		cr_expect(window_received(window, begun + 10));
		cr_expect_eq(window->lists, 30 * WINDOW_MARKS - 10);
		send_list(10);
		cr_expect(window_received(window, window->sent));
		cr_expect_eq(window->lists, 0);
		cr_expect_eq(window->held, 0);
	}
}

Test(window, is_limited_by_the_peers_credit)
{
	struct window *small = window_new(&all, 3 * ANSWER_RESERVED_BYTES);
	cr_expect(window_fits(small, WINDOW_READ, ANSWER_RESERVED_BYTES));
	cr_expect_not(window_fits(small, WINDOW_READ, ANSWER_RESERVED_BYTES + 1));
	window_leave(&small);
	small = window_new(&all, SIZE_MAX);
	cr_expect_not(window_fits(small, WINDOW_READ, READS_OWN + 1), "however much that is");
	window_leave(&small);
}

Test(window, counts_until_the_peer_has_received)
{
	window_add(window, 3000);
	window_sent(window, 1000);
	cr_expect_eq(window->held, 3000);
	cr_expect(window_received(window, 400));
	cr_expect(window_received(window, 300), "reported earlier, read later");
	cr_expect_eq(window->held, 2600);
	cr_expect(window_received(window, 1000));
	cr_expect_eq(window->held, 2000);
	cr_expect_eq(all.held, 2000);
	cr_expect_not(window_received(window, 1001));
	cr_expect_eq(window->held, 2000);
	window_sent(window, 2000);
	cr_expect(window_received(window, 3000));
	cr_expect_eq(all.held, 0);
}

/* However many sessions fill their share, something is left for the next. */
Test(window, no_session_gets_more_than_twice_what_is_left)
{
	enum { MANY = 100, STEP = 64 << 10 };
	struct window *others[MANY];
	for (unsigned i = 0; i < MANY; i++) {
		others[i] = window_new(&all, SESSION_ANSWER_BYTES);
		while (window_fits(others[i], WINDOW_READ, STEP))
			window_add(others[i], STEP);
		cr_expect_leq(all.held, ANSWERS_SHARD_BYTES_MAX - 2 * ANSWER_RESERVED_BYTES);
		cr_expect_leq(others[i]->held, READS_OWN);
	}
	cr_expect_geq(others[0]->held, READS_OWN - STEP);
	cr_expect_geq(others[1]->held, 16 * MIB);
	cr_expect(window_fits(window, WINDOW_WRITE, ANSWER_RESERVED_BYTES));
	for (unsigned i = 0; i < MANY; i++)
		window_leave(&others[i]);
}

Test(window, ends_with_its_last_user)
{
	struct window *mine = window_new(&all, MIB), *readers = window_share(mine);
	window_add(mine, 5);
	window_close(mine);
	window_leave(&mine);
	cr_expect_eq(all.held, 5);
	cr_expect_eq(window_wait(readers, 1, soon(1000)), ERR_OVERLOADED, "no peer is there to receive it");
	window_leave(&readers);
	cr_expect_eq(all.held, 0);
}

/* Waiting readers ---------------------------------------------------------------------------------------- */

static void *receive_later(void *unused)
{
	usleep(50000);
	cr_expect(window_received(window, MIB));
	return unused;
}

Test(window, a_reader_waits_for_the_peer_to_receive)
{
	pthread_t peer;
	send_list(MIB);
	send_list(LISTS_OWN);
	cr_assert_eq(pthread_create(&peer, NULL, receive_later, NULL), 0);
	cr_expect_eq(window_wait(window, MIB, soon(60000)), OK);
	cr_expect_eq(window->held, LISTS_FULL);
	pthread_join(peer, NULL);
}

Test(window, a_readers_wait_is_limited_and_the_next_does_not_wait)
{
	mono_us begun = time_mono();
	send_list(MIB);
	send_list(LISTS_OWN);
	cr_expect_not(window_is_stalled(window, MIB, begun));
	cr_expect_eq(window_wait(window, MIB, soon(60000)), ERR_OVERLOADED);
	cr_expect_geq(mono_since(time_mono(), begun).v, LISTS_STALL_MS * US_PER_MS);
	begun = time_mono();
	cr_expect(window_is_stalled(window, MIB, begun));
	cr_expect_eq(window_wait(window, MIB, soon(60000)), ERR_OVERLOADED);
	cr_expect_lt(mono_since(time_mono(), begun).v, patience_ms(LISTS_STALL_MS / 2) * US_PER_MS);
	cr_expect(window_received(window, MIB));
	cr_expect_not(window_is_stalled(window, MIB, time_mono()));
	cr_expect_eq(window_wait(window, MIB, soon(60000)), OK);
}

Test(window, a_reader_waits_no_longer_than_its_calls_deadline)
{
	mono_us begun = time_mono();
	window_add_list(window, LISTS_FULL);
	cr_expect_eq(window_wait(window, MIB, soon(10)), ERR_OVERLOADED);
	cr_expect_lt(mono_since(time_mono(), begun).v, patience_ms(LISTS_STALL_MS / 2) * US_PER_MS);
}

/* A peer that disconnects without receiving anything blocks no other. */
Test(window, room_of_an_ended_session_is_free)
{
	struct window *others[3];
	for (unsigned i = 0; i < 3; i++) {
		others[i] = window_new(&all, SESSION_ANSWER_BYTES);
		window_add(others[i], 20 * MIB);
	}
	cr_expect_eq(window_wait(window, MIB, soon(60000)), ERR_OVERLOADED);
	cr_expect(window_is_stalled(window, MIB, time_mono()));
	for (unsigned i = 0; i < 3; i++)
		window_leave(&others[i]);
	cr_expect_not(window_is_stalled(window, MIB, time_mono()));
	cr_expect_eq(window_wait(window, MIB, soon(60000)), OK);
}
