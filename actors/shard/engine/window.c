/* Room for answers. `held` counts an answer from its creation until its peer confirms it. Both sides count frames as the
 * transport gets them, so that the counts agree.
 *
 * Sums are atomic because readers add to them. A reader checks and adds under the mutex. The writer adds without it, and may
 * exceed a bound by one answer; ANSWER_RESERVED_BYTES leaves room for that. */
#include "actors/shard/engine/window.h"

#include "actors/rt/time.h"
#include "actors/rt/until.h"
#include "schemas/limits.h"

#include <stdlib.h>

enum { LOOK_AGAIN_MS = 50 }; /* how often a waiting reader checks its deadline */

struct window *window_new(struct windows *all, size_t granted)
{
	struct window *window = calloc(1, sizeof *window);
	if (!window) return NULL;
	window->all = all;
	window->users = 1;
	window->granted = granted < SESSION_ANSWER_BYTES ? granted : SESSION_ANSWER_BYTES;
	return window;
}

struct window *window_share(struct window *window)
{
	atomic_fetch_add(&window->users, 1);
	return window;
}

static void wake_readers(struct windows *all)
{
	if (atomic_load(&all->waiting) == 0) return;
	pthread_mutex_lock(&all->mutex);
	pthread_cond_broadcast(&all->room);
	pthread_mutex_unlock(&all->mutex);
}

void window_leave(struct window **window_p)
{
	struct window *window = *window_p;
	*window_p = NULL;
	if (!window || atomic_fetch_sub(&window->users, 1) > 1) return;
	atomic_fetch_sub(&window->all->held, window->held);
	atomic_store(&window->all->full_since, 0);
	wake_readers(window->all);
	free(window);
}

void window_close(struct window *window)
{
	atomic_store(&window->closed, true);
	wake_readers(window->all);
}

static size_t less(size_t bytes, size_t by)
{
	return bytes > by ? bytes - by : 0;
}

/* Lists and reads leave a part for answers to writes. */
static size_t share_for(enum window_use use, size_t max)
{
	return use == WINDOW_WRITE ? max : less(max, 2 * ANSWER_RESERVED_BYTES);
}

static bool fits_own(const struct window *window, enum window_use use, size_t size)
{
	if (use == WINDOW_LIST && atomic_load(&window->lists) > SESSION_LIST_BYTES) return false;
	return atomic_load(&window->held) + size <= share_for(use, window->granted);
}

static bool fits_shared(const struct window *window, enum window_use use, size_t size)
{
	size_t all = atomic_load(&window->all->held), max = window->all->max;
	if (all + size > share_for(use, max)) return false;
	return use == WINDOW_WRITE || atomic_load(&window->held) + size <= 2 * less(max, all);
}

bool window_fits(const struct window *window, enum window_use use, size_t size)
{
	return fits_own(window, use, size) && fits_shared(window, use, size);
}

static void note_room(struct window *window)
{
	atomic_store_explicit(&window->full_since, 0, memory_order_relaxed);
	atomic_store_explicit(&window->all->full_since, 0, memory_order_relaxed);
}

static void move(struct window *window, size_t size)
{
	atomic_fetch_add(&window->held, size);
	atomic_fetch_add(&window->all->held, size);
}

void window_add(struct window *window, size_t size)
{
	move(window, size);
}

void window_add_list(struct window *window, size_t size)
{
	atomic_fetch_add(&window->lists, size);
	move(window, size);
}

void window_drop_list(struct window *window, size_t size)
{
	atomic_fetch_sub(&window->lists, size);
	move(window, (size_t)0 - size);
	wake_readers(window->all);
}

void window_sent(struct window *window, size_t size)
{
	window->sent += size;
}

void window_sent_list(struct window *window, size_t size)
{
	bool     joins = window->mark_count == WINDOW_MARKS;
	unsigned last = (window->mark_first + window->mark_count - joins) % WINDOW_MARKS;
	window->sent += size;
	window->marks[last].end = window->sent;
	window->marks[last].size = joins ? window->marks[last].size + size : size;
	window->mark_count += !joins;
}

static void lists_received(struct window *window, uint64_t received)
{
	while (window->mark_count && window->marks[window->mark_first].end <= received) {
		atomic_fetch_sub(&window->lists, window->marks[window->mark_first].size);
		window->mark_first = (window->mark_first + 1) % WINDOW_MARKS;
		window->mark_count--;
	}
}

bool window_received(struct window *window, uint64_t received)
{
	if (received > window->sent) return false;
	if (received <= window->received) return true;
	note_room(window);
	lists_received(window, received);
	move(window, (size_t)0 - (size_t)(received - window->received));
	wake_readers(window->all);
	window->received = received;
	return true;
}

/* Readers ------------------------------------------------------------------------------------------------- */

static bool is_long_ago(int64_t since, mono_us now, int64_t ms)
{
	return since && now.v - since >= ms * US_PER_MS;
}

/* Lists are refused later than other replies: they are few bytes, and a peer that pauses for a moment goes on. */
bool window_is_stalled(const struct window *window, size_t size, mono_us now)
{
	int64_t own = atomic_load(&window->full_since), shared = atomic_load(&window->all->full_since);
	if (!fits_own(window, WINDOW_READ, size)) return is_long_ago(own, now, ANSWERS_STALL_MS);
	if (!fits_own(window, WINDOW_LIST, size)) return is_long_ago(own, now, LISTS_STALL_MS);
	return !fits_shared(window, WINDOW_LIST, size) && is_long_ago(shared, now, ANSWERS_STALL_MS);
}

static void note_full(struct window *window, size_t size, mono_us now)
{
	bool                 is_own = !fits_own(window, WINDOW_LIST, size);
	atomic_int_fast64_t *since = is_own ? &window->full_since : &window->all->full_since;
	if (!atomic_load(since)) atomic_store(since, now.v);
}

/* Call with the mutex held. */
static void sleep_a_little(struct windows *all)
{
	struct timespec until = until_ms(LOOK_AGAIN_MS);
	(void)pthread_cond_clockwait(&all->room, &all->mutex, CLOCK_MONOTONIC, &until);
}

enum err window_wait(struct window *window, size_t size, mono_us deadline)
{
	struct windows *all = window->all;
	enum err        err = OK;
	atomic_fetch_add(&all->waiting, 1);
	pthread_mutex_lock(&all->mutex);
	while (!window_fits(window, WINDOW_LIST, size)) {
		mono_us now = time_mono();
		note_full(window, size, now);
		if (window->closed || now.v >= deadline.v || window_is_stalled(window, size, now)) {
			err = ERR_OVERLOADED;
			goto out;
		}
		sleep_a_little(all);
	}
	if (window->closed) {
		err = ERR_OVERLOADED;
		goto out;
	}
	note_room(window);
	window_add_list(window, size);
out:
	pthread_mutex_unlock(&all->mutex);
	atomic_fetch_sub(&all->waiting, 1);
	return err;
}
