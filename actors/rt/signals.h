#pragma once
#include "schemas/err.h"

#include <stdbool.h>

/* Takes the process' signals: from now on they arrive as readable bytes (struct signalfd_siginfo) at *fd, in the main thread
 * and in those it starts later, and do nothing by themselves. What only tells of a program's own fault (SEGV, BUS, FPE, ILL,
 * TRAP, ABRT, SYS) is left as it is unless `faults` says so; the kernel ends a process by its real faults either way.
 * Errors: ERR_IO. */
must_check enum err signals_take(bool faults, int *fd);

/* The number of the next signal that has come, with who sent it; 0: none. */
struct signal_seen {
	int  number;
	bool is_of_terminal; /* from the kernel: the terminal's keys, or its end */
};
struct signal_seen signals_next(int fd);
