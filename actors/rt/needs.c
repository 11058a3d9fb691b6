#include "actors/rt/needs.h"
#include "actors/rt/log.h"
#include "schemas/libcurl.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

/* To no more than is usual: without a limit the kernel places memory in another way. The C library has read the limit when the
 * program began, so its default for threads is set too. */
bool needs_stack(uint64_t *allowed)
{
	enum { USUAL = 8 << 20 };
	struct rlimit  limit;
	pthread_attr_t attributes;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= NEEDS_STACK_BYTES) return true;
	*allowed = limit.rlim_max;
	limit.rlim_cur = limit.rlim_max < USUAL ? limit.rlim_max : USUAL;
	if (limit.rlim_cur < NEEDS_STACK_BYTES || setrlimit(RLIMIT_STACK, &limit)) return false;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, limit.rlim_cur);
	bool is_set = !pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
	return is_set;
}

/* Threads of a trial wait for the lock, and end when they have it. */
static void *wait_for_end(void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

uint32_t needs_threads(uint32_t wanted, int *error)
{
	enum { STACK_BYTES = 128 << 10 }; /* memory has a limit of its own */
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_attr_t  attributes;
	pthread_t      *threads = calloc(wanted, sizeof *threads);
	uint32_t        count = 0;

	*error = threads ? 0 : ENOMEM;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_mutex_lock(&lock);
	while (!*error && count < wanted)
		if (!(*error = pthread_create(&threads[count], &attributes, wait_for_end, &lock))) count++;
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&attributes);
	free(threads);
	return count;
}

enum err needs_libcurl(void)
{
	const char *fault;

	if (libcurl_load(&fault)) return OK;
	log_fatal("libcurl_missing", "error=\"%s\" reason=\"install libcurl4\"", fault);
	return ERR_UNSUPPORTED;
}
