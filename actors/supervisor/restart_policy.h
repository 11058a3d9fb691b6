#pragma once
#include "schemas/clock.h"
#include "schemas/messages.h"

#include <stdbool.h>
#include <stdint.h>

/* Decides without acting: pure functions, so that every rule about restarting and stopping can be tested. Units: microseconds.
 * Errors: none. */

/* How long to wait before a process is restarted after its `deaths`-th early death in a row (0: it had lived long): 0, 100 ms,
 * 200 ms and so on, doubled up to 5 s. */
dur_us policy_backoff(uint32_t deaths);

/* A process ended: what to do. `give_up` means stop everything and exit 1. */
struct exit_seen {
	bool     stopping;  /* the service is stopping */
	bool     was_ready; /* all processes have been ready at once since the start */
	bool     by_itself; /* it exited, and was not killed by a signal */
	int      status;    /* by_itself: its exit status */
	dur_us   lived;     /* since it was started */
	uint32_t deaths;    /* early ones in a row before this one */
};
struct exit_plan {
	bool     give_up, restart;
	dur_us   wait;   /* before the restart */
	uint32_t deaths; /* to remember */
};
struct exit_plan policy_exit(const struct exit_seen *seen);

/* The signal that processes of `role` should have received after `stopping`, given which roles still have a live process: 0,
 * SIGTERM or SIGKILL. http drains first, then the timer stops, then the shards; each has its share of the time. */
int policy_stop(enum role role, const bool alive[ROLE_COUNT], dur_us stopping);

/* Past this time, even an unkillable process is left to the kernel. */
bool policy_stop_is_over(dur_us stopping);

/* How many shards a new data directory gets on a machine with `cores`: half as many, at least 1, at most 8. */
uint32_t policy_shards(long cores);

/* Bytes of memory for late tables in each of `shards` shards, without --memory, on a machine that has so many. */
uint64_t policy_memory(uint64_t machine_bytes, uint32_t shards);
