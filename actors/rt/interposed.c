/* Definitions that replace the C library's, in libzmq too.
 *
 * getpid() is cached. To notice a fork, libzmq calls it whenever it sends or awaits a signal between its threads: some twenty
 * times for each frame and its answer, a sixth of a loaded service's system calls. The C library no longer caches it. A fork
 * resets it. No process is made here in a way that bypasses the C library's fork().
 *
 * pthread_setschedparam() does nothing for a thread that has the parameters already. libzmq sets those of each of its threads to
 * what they are, and ends the process if that is refused. Filters of system calls refuse it, such as
 * `SystemCallFilter=~@resources` of systemd. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic pid_t known; /* 0: not yet */
static bool          is_notified_of_forks;

static void forget(void)
{
	atomic_store_explicit(&known, 0, memory_order_relaxed);
}

/* Before main(), so that in a child this handler runs before those registered later. */
__attribute__((constructor)) static void forget_at_forks(void)
{
	is_notified_of_forks = pthread_atfork(NULL, NULL, forget) == 0;
}

pid_t getpid(void)
{
	pid_t pid = atomic_load_explicit(&known, memory_order_relaxed);
	if (pid) return pid;
	pid = (pid_t)syscall(SYS_getpid);
	if (is_notified_of_forks) atomic_store_explicit(&known, pid, memory_order_relaxed);
	return pid;
}

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *wanted)
{
	int (*next)(pthread_t, int, const struct sched_param *);
	struct sched_param has;
	int                now;
	bool               is_known = !pthread_getschedparam(thread, &now, &has);

	if (is_known && now == policy && has.sched_priority == wanted->sched_priority) return 0;
	*(void **)&next = dlsym(RTLD_NEXT, "pthread_setschedparam");
	return next ? next(thread, policy, wanted) : ENOSYS;
}
