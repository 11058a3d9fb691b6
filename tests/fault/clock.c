/* A wall clock that can be set wrong, preloaded before the C library (LD_PRELOAD). The file named by
 * CLOCK_OFFSET_FILE has the offset of the real time clock in seconds. It is read at each request for the
 * time, so the clock can be changed while a program runs. Other clocks are right. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int settable_gettimeofday(struct timeval *at, void *zone) __asm__("gettimeofday");

static long offset_s(void)
{
	char        text[32];
	const char *name = getenv("CLOCK_OFFSET_FILE");
	int         fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) return 0;
	ssize_t size = read(fd, text, sizeof text - 1);
	close(fd);
	text[size > 0 ? size : 0] = 0;
	return strtol(text, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
	int result = (int)syscall(SYS_clock_gettime, clock, at);
	if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		at->tv_sec += offset_s();
	return result;
}

/* Declared under another name: the C library's prototype says that `zone` is unused and that `at` is never
 * NULL. */
int settable_gettimeofday(struct timeval *at, void *zone)
{
	int result = (int)syscall(SYS_gettimeofday, at, zone);
	if (result == 0 && at) at->tv_sec += offset_s();
	return result;
}

time_t time(time_t *at)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (at) *at = now.tv_sec;
	return now.tv_sec;
}
