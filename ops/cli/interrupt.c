/* Signals that end a command in order. */
#include "ops/cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

static volatile sig_atomic_t came, came_s;

static sig_atomic_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (sig_atomic_t)now.tv_sec;
}

static void on_signal(int signal_number)
{
	if (!came) {
		came_s = seconds();
		came = 1;
	} else if (seconds() - came_s > 1) {
		(void)sigaction(signal_number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
		(void)raise(signal_number); /* delivered on return */
	}
}

void interrupt_catch(void)
{
	struct sigaction catch = {.sa_handler = on_signal}, was;
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (!sigaction(signals[i], NULL, &was) && was.sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &catch, NULL);
}

bool interrupt_came(void)
{
	return came;
}
