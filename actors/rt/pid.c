/* getpid(), remembered. libzmq asks for it whenever it sends or awaits a signal between its threads, to notice a fork:
 * some twenty times for each frame that goes from one process to another and its answer, which was every sixth system
 * call of a loaded service. The C library no longer keeps the number; this definition stands in for its own, in libzmq
 * too, and forgets at a fork. Nothing here makes processes in a way that would pass by the C library's fork(). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic pid_t known; /* 0: not yet */
static bool          is_told_of_forks;

static void forget(void)
{
	atomic_store_explicit(&known, 0, memory_order_relaxed);
}

/* Before main(), so that in a child ours is called before those that are registered from then on. */
__attribute__((constructor)) static void forget_at_forks(void)
{
	is_told_of_forks = pthread_atfork(NULL, NULL, forget) == 0;
}

pid_t getpid(void)
{
	pid_t pid = atomic_load_explicit(&known, memory_order_relaxed);
	if (pid) return pid;
	pid = (pid_t)syscall(SYS_getpid);
	if (is_told_of_forks) atomic_store_explicit(&known, pid, memory_order_relaxed);
	return pid;
}
