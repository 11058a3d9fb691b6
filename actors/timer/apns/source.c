/* What epoll watches. */
#include "actors/timer/apns/apns_inside.h"

#include <sys/epoll.h>

bool source_watch(struct apns *apns, struct source *source, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u64 = SOURCE_EVENT | (uintptr_t)source};
	return !epoll_ctl(apns->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}
