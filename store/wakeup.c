/* A signal is counted before it is written to the eventfd, so the thread that it wakes, which often preempts the
 * signaller, finds the count. A check may come between the two. Therefore `owed` and `rung` are separate counts.
 * Their sum is always the signals readable plus those about to be written; if both are 0, the descriptor stays
 * silent. `owed` is negative if a read took signals not yet cleared; these are in `rung`. */
#include "store/wakeup.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum err wakeup_open(struct wakeup *wakeup)
{
	atomic_init(&wakeup->rung, 0);
	wakeup->owed = 0;
	wakeup->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return wakeup->fd < 0 ? ERR_IO : OK;
}

void wakeup_close(struct wakeup *wakeup)
{
	if (wakeup->fd >= 0) close(wakeup->fd);
	wakeup->fd = -1;
}

void wakeup_signal(struct wakeup *wakeup)
{
	uint64_t one = 1;
	atomic_fetch_add(&wakeup->rung, 1);
	ssize_t n = write(wakeup->fd, &one, sizeof one);
	(void)n; /* full means it is readable already */
}

bool wakeup_clear(struct wakeup *wakeup)
{
	uint64_t count;
	bool     rung = atomic_load_explicit(&wakeup->rung, memory_order_relaxed) != 0;
	if (rung) wakeup->owed += atomic_exchange(&wakeup->rung, 0);
	if (wakeup->owed > 0 && read(wakeup->fd, &count, sizeof count) == (ssize_t)sizeof count)
		wakeup->owed -= (int64_t)count;
	return rung;
}
