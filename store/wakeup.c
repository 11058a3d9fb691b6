/* A ring is counted before the eventfd is written to: whoever is woken by it, often in the very place of the one that rings,
 * finds the count. Between the two anybody may look. So what is counted and what is read are kept apart: `owed` and `rung`
 * together are always what can be read and what is about to be written, and where both are nothing the descriptor is silent,
 * and stays so. `owed` is below nothing when more was read than had been looked at; then `rung` has the rest. */
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
