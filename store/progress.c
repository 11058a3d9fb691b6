/* The pace of background work: many short pauses, so that requests are not delayed noticeably. */
#include "store/progress.h"

#include <time.h>

enum { REST_EVERY_BYTES = 128 << 10, REST_MS_MAX = 500 };

static void rest(struct progress *progress)
{
	uint64_t        ns = progress->unrested * UINT64_C(1000000000) / progress->bytes_per_s;
	uint64_t        most = UINT64_C(1000000) * REST_MS_MAX;
	struct timespec pause = {.tv_nsec = (long)(ns < most ? ns : most)};
	nanosleep(&pause, NULL);
	progress->unrested = 0;
}

bool progress_count(struct progress *progress, uint64_t bytes)
{
	if (!progress) return true;
	atomic_fetch_add_explicit(&progress->done, bytes, memory_order_relaxed);
	return !atomic_load_explicit(&progress->stop, memory_order_relaxed);
}

bool progress_step(struct progress *progress, uint64_t bytes)
{
	if (!progress) return true;
	progress->unrested += bytes;
	if (progress->bytes_per_s && progress->unrested >= REST_EVERY_BYTES) rest(progress);
	return progress_count(progress, bytes);
}
