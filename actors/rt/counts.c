/* The shared page of counts. */
#include "actors/rt/counts.h"

#include <sys/mman.h>
#include <unistd.h>

static struct counts  own;
static struct counts *shared = &own;

struct counts *counts_shared(void)
{
	return shared;
}

int counts_make(void)
{
	int fd = memfd_create("stampede-counts", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, sizeof *shared) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void counts_take(int fd)
{
	void *page = fd < 0 ? MAP_FAILED
	                    : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) shared = page;
}

void counts_google_call(int status)
{
	if (status >= 0 && status < COUNTS_STATUS_END)
		atomic_fetch_add_explicit(&shared->google_calls[status], 1, memory_order_relaxed);
}
