/* Only the sleep of a loop; the loop is the caller's. Nothing is dispatched: after a wake-up the caller checks what it has,
 * and may ask which descriptor was ready. */
#include "actors/rt/loop.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <unistd.h>

enum err loop_open(struct loop *loop)
{
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd >= 0) return OK;
	return errno == ENOMEM ? ERR_NO_MEMORY : ERR_IO;
}

void loop_close(struct loop *loop)
{
	if (loop->epoll_fd >= 0) close(loop->epoll_fd);
	loop->epoll_fd = -1;
}

enum err loop_watch(struct loop *loop, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0) return OK;
	return errno == ENOMEM || errno == ENOSPC ? ERR_NO_MEMORY : ERR_IO;
}

void loop_wait(struct loop *loop, dur_us wait)
{
	/* Rounded up: waking a little early would make the caller turn idly until the time has come. */
	int64_t            wait_ms = wait.v <= 0 ? 0 : (wait.v - 1) / US_PER_MS + 1;
	struct epoll_event events[LOOP_READY_MAX];
	int                count = epoll_wait(loop->epoll_fd, events, LOOP_READY_MAX,
                               wait_ms > INT_MAX ? INT_MAX : (int)wait_ms);
	loop->ready_count = count > 0 ? count : 0;
	for (int i = 0; i < loop->ready_count; i++)
		loop->ready[i] = events[i].data.fd;
}

bool loop_is_ready(const struct loop *loop, int fd)
{
	if (loop->ready_count == LOOP_READY_MAX) return true;
	for (int i = 0; i < loop->ready_count; i++)
		if (loop->ready[i] == fd) return true;
	return false;
}
