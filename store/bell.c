/* A ring is counted before the eventfd is written to: whoever is woken by it, often in the very place of the one that rings,
 * finds the count. Between the two anybody may look. So what is counted and what is read are kept apart: `owed` and `rung`
 * together are always what can be read and what is about to be written, and where both are nothing the descriptor is silent,
 * and stays so. `owed` is below nothing when more was read than had been looked at; then `rung` has the rest. */
#include "store/bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum err bell_open(struct bell *bell)
{
	atomic_init(&bell->rung, 0);
	bell->owed = 0;
	bell->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return bell->fd < 0 ? ERR_IO : OK;
}

void bell_close(struct bell *bell)
{
	if (bell->fd >= 0) close(bell->fd);
	bell->fd = -1;
}

void bell_ring(struct bell *bell)
{
	uint64_t one = 1;
	atomic_fetch_add(&bell->rung, 1);
	ssize_t n = write(bell->fd, &one, sizeof one);
	(void)n; /* full means it is readable already */
}

bool bell_answered(struct bell *bell)
{
	uint64_t count;
	bool     rung = atomic_load_explicit(&bell->rung, memory_order_relaxed) != 0;
	if (rung) bell->owed += atomic_exchange(&bell->rung, 0);
	if (bell->owed > 0 && read(bell->fd, &count, sizeof count) == (ssize_t)sizeof count)
		bell->owed -= (int64_t)count;
	return rung;
}
