/* Ends a process whose tables are damaged; the next one rebuilds them. The earlier handler of the signal (the kernel, a
 * sanitizer) then acts, because the instruction is repeated. LMDB's own assertions abort; a page with size 0 causes a division
 * by zero. */
#include "actors/shard/pages.h"

#include "store/clean_mark.h"

#include <signal.h>

static int              shard_dir = -1;
static const int        numbers[] = {SIGBUS, SIGSEGV, SIGFPE, SIGABRT};
static struct sigaction before[sizeof numbers / sizeof *numbers];

static void on_page(int number)
{
	clean_mark_remove(shard_dir);
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (numbers[i] == number) sigaction(number, &before[i], NULL);
}

void pages_watch(int shard_fd)
{
	struct sigaction action = {.sa_handler = on_page};
	shard_dir = shard_fd;
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		(void)!sigaction(numbers[i], &action, &before[i]);
}
