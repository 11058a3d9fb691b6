/* The supervisor's rules as pure functions. Only during the first start does the exit of a process end the service: an exit
 * status other than 0 means that something cannot work (such as a damaged file), and an operator is watching. Later the other
 * processes have work to do, so every exit leads to a restart. */
#include "actors/supervisor/restart_policy.h"

#include "schemas/limits.h"

#include <signal.h>

static const int64_t backoff_first_us = 100 * US_PER_MS;
static const int64_t backoff_most_us = 5 * US_PER_SEC;
static const int64_t long_life_us = 10 * US_PER_SEC;

/* In the order of stopping. The longest wait of a request (10 s, a pass being issued) fits in the first share. A shard only
 * has to finish its batch. */
static const struct {
	enum role role;
	int64_t   until_us; /* then SIGKILL */
} stop_order[] = {
    {ROLE_HTTP, 12 * US_PER_SEC},
    {ROLE_TIMER, 13 * US_PER_SEC},
    {ROLE_SHARD, 15 * US_PER_SEC},
};
enum { STOP_ROLES = sizeof stop_order / sizeof *stop_order };

dur_us policy_backoff(uint32_t deaths)
{
	int64_t wait = backoff_first_us;

	if (deaths == 0) return (dur_us){0};
	while (--deaths && wait < backoff_most_us)
		wait *= 2;
	return (dur_us){wait < backoff_most_us ? wait : backoff_most_us};
}

struct exit_plan policy_exit(const struct exit_seen *seen)
{
	uint32_t deaths = seen->lived.v >= long_life_us ? 0 : seen->deaths;

	if (seen->stopping) return (struct exit_plan){.deaths = deaths};
	if (!seen->was_ready && seen->by_itself && seen->status != 0)
		return (struct exit_plan){.give_up = true, .deaths = deaths};
	return (struct exit_plan){.restart = true, .wait = policy_backoff(deaths), .deaths = deaths + 1};
}

int policy_stop(enum role role, const bool alive[ROLE_COUNT], dur_us stopping)
{
	bool its_turn = true;

	for (unsigned i = 0; i < STOP_ROLES; i++) {
		if (stop_order[i].role != role) {
			its_turn = its_turn && !alive[stop_order[i].role];
			continue;
		}
		if (stopping.v >= stop_order[i].until_us) return SIGKILL;
		return its_turn ? SIGTERM : 0;
	}
	return 0;
}

bool policy_stop_is_over(dur_us stopping)
{
	return stopping.v >= stop_order[STOP_ROLES - 1].until_us + US_PER_SEC;
}

uint64_t policy_memory(uint64_t machine_bytes, uint32_t shards)
{
	uint64_t share = machine_bytes / LATE_MEMORY_SHARE;
	uint64_t of_all = machine_bytes / LATE_MEMORY_SHARE_ALL / (shards ? shards : 1);

	if (share > of_all) share = of_all;
	return share < LATE_MEMORY_MIN ? (uint64_t)LATE_MEMORY_MIN : share;
}

uint32_t policy_shards(long cores)
{
	long half = cores / 2;

	if (half < 1) return 1;
	return half > 8 ? 8 : (uint32_t)half;
}
