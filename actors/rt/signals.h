#pragma once
#include "schemas/err.h"

#include <stdbool.h>

/* Takes the process's signals: they arrive as readable bytes (struct signalfd_siginfo) at *fd, in the main thread and those it
 * starts later, and have no other effect. Signals of a program's own faults (SEGV, BUS, FPE, ILL, TRAP, ABRT, SYS) are left
 * unchanged unless `faults` is set; the kernel ends a process with a real fault either way. Errors: ERR_IO. */
must_check enum err signals_take(bool faults, int *fd);

/* The next signal that has arrived, with its sender; number 0: none. */
struct signal_seen {
	int  number;
	bool is_of_terminal; /* from the kernel: the terminal's keys, or its end */
};
struct signal_seen signals_next(int fd);
