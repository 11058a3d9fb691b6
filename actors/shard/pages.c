/* Ends a process whose tables are damaged; the next one rebuilds them. The earlier handler of the signal (the kernel, a
 * sanitizer) then acts, because the instruction is repeated or the signal is raised again. LMDB's own assertions abort; a page with size 0 causes a division
 * by zero. */
#include "actors/shard/pages.h"

#include "store/clean_mark.h"

#include <signal.h>

static int              shard_dir = -1;
static const int        numbers[] = {SIGBUS, SIGSEGV, SIGFPE, SIGABRT};
static struct sigaction before[sizeof numbers / sizeof *numbers];

static void on_page(int number, siginfo_t *of, void *unused)
{
	(void)unused;
	clean_mark_remove(shard_dir);
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (numbers[i] == number) sigaction(number, &before[i], NULL);
	if (of->si_code <= 0) raise(number); /* sent by kill or abort(): no instruction is repeated */
}

void pages_watch(int shard_fd)
{
	struct sigaction action = {.sa_sigaction = on_page, .sa_flags = SA_SIGINFO};
	shard_dir = shard_fd;
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		(void)!sigaction(numbers[i], &action, &before[i]);
}
