/* The wake-up of a thread by others: no ring is lost, and none leaves the descriptor readable. */
#include "tests/unit/patience.h"
#include "store/wakeup.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

enum { RINGERS = 3, RINGS = 20000 };

static struct wakeup wakeup = {.fd = -1};

static void begin(void)
{
	cr_assert_eq(wakeup_open(&wakeup), OK);
}

static void end(void)
{
	wakeup_close(&wakeup);
}

TestSuite(wakeup, .init = begin, .fini = end);

static bool is_readable(int wait_ms)
{
	struct pollfd woken = {.fd = wakeup.fd, .events = POLLIN};
	return poll(&woken, 1, wait_ms) == 1;
}

Test(wakeup, is_silent_until_it_is_rung)
{
	cr_expect_not(is_readable(0));
	cr_expect_not(wakeup_clear(&wakeup));
}

Test(wakeup, is_silent_again_once_it_is_answered)
{
	wakeup_signal(&wakeup);
	wakeup_signal(&wakeup);
	cr_expect(is_readable(0));
	cr_expect(wakeup_clear(&wakeup));
	cr_expect_not(is_readable(0));
	cr_expect_not(wakeup_clear(&wakeup));
}

/* A ring and an answer have two steps each. The test does the other side's steps between them. */

static void count_a_ring(void)
{
	atomic_fetch_add(&wakeup.rung, 1);
}

static void write_a_ring(void)
{
	uint64_t one = 1;
	cr_assert_eq(write(wakeup.fd, &one, sizeof one), (ssize_t)sizeof one);
}

static void expect_rest(void)
{
	cr_expect_not(is_readable(0));
	cr_expect_not(wakeup_clear(&wakeup));
	cr_expect_eq(wakeup.owed, 0);
}

Test(wakeup, is_noticed_before_its_descriptor_is_readable)
{
	count_a_ring();
	cr_expect(wakeup_clear(&wakeup));
	write_a_ring();
	cr_expect(is_readable(0));
	cr_expect_not(wakeup_clear(&wakeup), "it was noticed");
	expect_rest();
}

Test(wakeup, is_silent_when_the_second_of_two_rings_is_written_late)
{
	wakeup_signal(&wakeup);
	count_a_ring();
	cr_expect(wakeup_clear(&wakeup));
	write_a_ring();
	cr_expect_not(wakeup_clear(&wakeup));
	expect_rest();
}

Test(wakeup, is_silent_when_two_threads_write_late)
{
	count_a_ring();
	count_a_ring();
	cr_expect(wakeup_clear(&wakeup));
	write_a_ring();
	cr_expect_not(wakeup_clear(&wakeup));
	write_a_ring();
	cr_expect_not(wakeup_clear(&wakeup));
	expect_rest();
}

Test(wakeup, is_noticed_when_it_rings_during_an_answer)
{
	uint64_t count;
	wakeup_signal(&wakeup);
	wakeup.owed += atomic_exchange(&wakeup.rung, 0);
	wakeup_signal(&wakeup);
	cr_assert_eq(read(wakeup.fd, &count, sizeof count), (ssize_t)sizeof count);
	wakeup.owed -= (int64_t)count;
	cr_expect_not(is_readable(0));
	cr_expect(wakeup_clear(&wakeup));
	expect_rest();
}

static atomic_int told;

static void *ring_often(void *unused)
{
	for (int i = 0; i < RINGS; i++) {
		atomic_fetch_add(&told, 1);
		wakeup_signal(&wakeup);
	}
	return unused;
}

Test(wakeup, misses_no_ring_of_several)
{
	pthread_t threads[RINGERS];
	int       seen = 0, turns = 0;
	for (int i = 0; i < RINGERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, ring_often, NULL), 0);
	while (seen < RINGERS * RINGS &&
	       is_readable(patience_ms(3000))) { /* a sleep with an unreported ring would never end */
		turns++;
		if (wakeup_clear(&wakeup)) seen = atomic_load(&told);
	}
	for (int i = 0; i < RINGERS; i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(seen, RINGERS * RINGS);
	(void)wakeup_clear(&wakeup);
	expect_rest();
	cr_expect_leq(turns, 2 * RINGERS * RINGS + 2);
}
