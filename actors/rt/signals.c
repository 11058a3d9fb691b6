/* Signals of a long-lived process. A host sends more than TERM: HUP when a terminal closes or logs are rotated, USR1 and USR2
 * by hooks meant for another program, PIPE, TTOU and TTIN for a write to a terminal, PWR, real-time ones. The default of most
 * is to end the process. So all are blocked and read, and the reader acts on those it knows.
 *
 * The C library reserves two real-time signals, for cancelling threads and for changing their user, which are unused here. It
 * leaves them out of its masks, unblocks one in every new thread, and sets no handler. From outside they would end the
 * process. They are ignored, by a direct system call. */
#include "actors/rt/signals.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KERNEL_MASK_BYTES = 8 };
_Static_assert(sizeof(void *) == 8, "the kernel's structures are those of 64 bits");

static uint64_t bit(int number)
{
	return (uint64_t)1 << (number - 1);
}

static enum err ignore_library_signals(void)
{
	const struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} ignore = {.handler = SIG_IGN};

	for (int number = 32; number < SIGRTMIN; number++)
		if (syscall(SYS_rt_sigaction, number, &ignore, NULL, KERNEL_MASK_BYTES)) return ERR_IO;
	return OK;
}

enum err signals_take(bool faults, int *fd)
{
	static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	static const int heeded[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
	uint64_t         mask = ~(uint64_t)0;
	sigset_t         set;

	if (!faults)
		for (unsigned i = 0; i < sizeof own_faults / sizeof *own_faults; i++)
			mask &= ~bit(own_faults[i]);
	/* The parent may have set them to ignored, and an ignored signal never arrives. */
	for (unsigned i = 0; i < sizeof heeded / sizeof *heeded; i++)
		signal(heeded[i], SIG_DFL);
	/* An error of the write, such as a peer that hung up or a file at its limit, must not end the process.
	 * Ignored and not blocked: a blocked one stays pending, and a log line about it, to a reader that has
	 * gone, would cause the next. */
	mask &= ~(bit(SIGPIPE) | bit(SIGXFSZ));
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* Set, not added to: the supervisor's own mask came along with exec. */
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_MASK_BYTES)) return ERR_IO;
	memset(&set, 0, sizeof set);
	memcpy(&set, &mask, sizeof mask);
	if (ignore_library_signals()) return ERR_IO;
	*fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return *fd < 0 ? ERR_IO : OK;
}

struct signal_seen signals_next(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof info) != (ssize_t)sizeof info) return (struct signal_seen){0};
	return (struct signal_seen){.number = (int)info.ssi_signo,
	                            .is_of_terminal = info.ssi_code == SI_KERNEL};
}
