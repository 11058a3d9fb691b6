/* Connections. All addresses of a host are tried, a quarter of a second apart, and at once after a failure. The first that
 * connects is used; the others are closed (RFC 8305, "Happy Eyeballs"). So an address that is silent or refuses costs at most
 * a quarter of a second, not the whole attempt.
 *
 * Each address is checked just before its socket is made (socket.c). libcurl gets a connected socket, and never an address that
 * it could dial itself.
 *
 * Addresses of a family that is resolved late join a running race. A finished race stays in RACE_OVER until its attempt
 * continues, when ends are gathered: nothing is freed while events are processed. */
#include "actors/timer/egress_inside.h"
#include "actors/rt/time.h"
#include "actors/timer/socket.h"
#include "schemas/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

_Static_assert(RESOLVED_MAX *EGRESS_STAGGER_MS < EGRESS_ATTEMPT_MS,
               "the attempt ends before the last address is tried");

/* An address that was tried; fd -1: it failed, or must not be dialled. */
struct runner {
	struct race   *race;
	struct address address;
	int            fd;
};

struct race {
	TAILQ_ENTRY(race) in_wait;
	struct attempt *attempt;
	enum race_wait  wait;
	mono_us         at; /* STAGGER and LATE: when to continue */
	unsigned        count, open;
	struct runner   runner[RESOLVED_MAX];
};

/* ---- waiting ---- */

/* In each wait except the last two, all races wait equally long: the first is due next. */
static void wait_for(struct race *race, enum race_wait wait, int64_t ms)
{
	struct egress *egress = race->attempt->egress;

	TAILQ_REMOVE(&egress->races[race->wait], race, in_wait);
	race->wait = wait;
	race->at = mono_after(egress->now, (dur_us){ms * US_PER_MS});
	TAILQ_INSERT_TAIL(&egress->races[wait], race, in_wait);
}

/* ---- runners ---- */

static void note_errno(struct attempt *attempt, int number)
{
	static const enum attempt_detail rank[] = {DETAIL_NONE, DETAIL_CONNECT_UNREACHABLE,
	                                           DETAIL_CONNECT_TIMEOUT, DETAIL_CONNECT_RESET,
	                                           DETAIL_CONNECT_REFUSED};
	enum attempt_detail              now = DETAIL_CONNECT_UNREACHABLE;
	unsigned                         before = 0, after = 0;

	if (number == ECONNREFUSED) now = DETAIL_CONNECT_REFUSED;
	if (number == ECONNRESET) now = DETAIL_CONNECT_RESET;
	if (number == ETIMEDOUT) now = DETAIL_CONNECT_TIMEOUT;
	for (unsigned i = 0; i < sizeof rank / sizeof *rank; i++) {
		if (rank[i] == attempt->detail) before = i;
		if (rank[i] == now) after = i;
	}
	if (after > before) attempt->detail = now;
}

static void runner_close(struct runner *runner)
{
	if (runner->fd < 0) return;
	close(runner->fd); /* which also removes it from epoll */
	runner->fd = -1;
	runner->race->open--;
	runner->race->attempt->egress->runner_count--;
}

/* Is it in progress? False: it failed at once, or the address must not be dialled. */
static bool runner_begin(struct race *race, const struct address *address)
{
	struct attempt    *attempt = race->attempt;
	struct egress     *egress = attempt->egress;
	struct runner     *runner = &race->runner[race->count++];
	struct epoll_event event = {.events = EPOLLOUT, .data.u64 = RACE_EVENT | (uintptr_t)runner};

	*runner = (struct runner){.race = race, .address = *address, .fd = -1};
	enum dialled dialled = socket_dial(egress->options.rules, address, attempt->endpoint->host->port,
	                                   &runner->fd);
	attempt->has_refused |= dialled == DIAL_FORBIDDEN;
	attempt->has_dialled |= dialled != DIAL_FORBIDDEN;
	attempt->lacked |= dialled == DIAL_LACKED;
	if (dialled == DIAL_FAILED || dialled == DIAL_LACKED) note_errno(attempt, errno);
	if (dialled != DIAL_BEGUN) return false;
	race->open++;
	egress->runner_count++;
	if (!epoll_ctl(egress->epoll_fd, EPOLL_CTL_ADD, runner->fd, &event)) return true;
	attempt->lacked = true;
	runner_close(runner);
	return false;
}

/* ---- the race ---- */

static const struct address *next_address(const struct race *race)
{
	const struct host *host = race->attempt->endpoint->host;

	for (unsigned i = 0; i < host->address_count && race->count < RESOLVED_MAX; i++) {
		unsigned tried = 0;
		while (tried < race->count &&
		       memcmp(&race->runner[tried].address, &host->address[i], sizeof host->address[i]))
			tried++;
		if (tried == race->count) return &host->address[i];
	}
	return NULL;
}

static bool may_family_come(const struct race *race)
{
	const struct attempt *attempt = race->attempt;
	const struct host    *host = attempt->endpoint->host;

	return host->is_looked_up &&
	       mono_since(attempt->egress->now, host->asked_at).v < EGRESS_FAMILY_LATE_MS * US_PER_MS;
}

/* Descriptors are reserved for one connection an attempt, and some more. When these are used up, a race waits for its runner. */
static bool has_room(const struct race *race)
{
	const struct egress *egress = race->attempt->egress;

	return race->open == 0 || egress->runner_count < egress->options.attempts_max;
}

static void go_on(struct race *race)
{
	const struct address *next;

	while (!race->attempt->lacked && (next = next_address(race)))
		if (!has_room(race) || runner_begin(race, next)) {
			wait_for(race, RACE_STAGGER, EGRESS_STAGGER_MS);
			return;
		}
	if (!race->attempt->lacked && may_family_come(race))
		wait_for(race, RACE_LATE, EGRESS_FAMILY_WAIT_MS);
	else
		wait_for(race, race->open ? RACE_IDLE : RACE_OVER, 0);
}

/* The socket now belongs to the attempt; libcurl adds it to epoll again. */
static void win(struct runner *runner)
{
	struct attempt *attempt = runner->race->attempt;

	epoll_ctl(attempt->egress->epoll_fd, EPOLL_CTL_DEL, runner->fd, NULL);
	attempt->fd = runner->fd;
	attempt->detail = DETAIL_NONE; /* of addresses that lost */
	runner->fd = -1;
	runner->race->open--;
	attempt->egress->runner_count--;
	for (unsigned i = 0; i < runner->race->count; i++)
		runner_close(&runner->race->runner[i]);
	wait_for(runner->race, RACE_OVER, 0);
}

/* An event of the same batch may be of a runner that was closed meanwhile. */
void race_event(uint64_t data)
{
	struct runner *runner = (struct runner *)(uintptr_t)(data & ~RACE_EVENT);
	int            error = 0;
	socklen_t      size = sizeof error;

	if (runner->fd < 0) return;
	if (!getsockopt(runner->fd, SOL_SOCKET, SO_ERROR, &error, &size) && !error) {
		win(runner);
		return;
	}
	note_errno(runner->race->attempt, error);
	runner_close(runner);
	go_on(runner->race);
}

void races_turn(struct egress *egress)
{
	struct race *race;

	for (enum race_wait wait = RACE_STAGGER; wait <= RACE_LATE; wait++)
		while ((race = TAILQ_FIRST(&egress->races[wait])) && race->at.v <= egress->now.v)
			go_on(race);
}

mono_us races_due(const struct egress *egress)
{
	mono_us due = {INT64_MAX};

	for (enum race_wait wait = RACE_STAGGER; wait <= RACE_LATE; wait++) {
		const struct race *first = TAILQ_FIRST(&egress->races[wait]);
		if (first && first->at.v < due.v) due = first->at;
	}
	return due;
}

struct attempt *races_next_over(struct egress *egress)
{
	struct race    *race = TAILQ_FIRST(&egress->races[RACE_OVER]);
	struct attempt *attempt = race ? race->attempt : NULL;

	if (attempt) race_end(attempt);
	return attempt;
}

enum err race_begin(struct attempt *attempt)
{
	struct race *race = attempt->race = calloc(1, sizeof *race);

	if (!race) return ERR_NO_MEMORY;
	race->attempt = attempt;
	race->wait = RACE_OVER;
	TAILQ_INSERT_TAIL(&attempt->egress->races[RACE_OVER], race, in_wait);
	attempt->has_refused = attempt->has_dialled = false;
	attempt->detail = DETAIL_NONE;
	go_on(race);
	return OK;
}

void race_end(struct attempt *attempt)
{
	struct race *race = attempt->race;

	if (!race) return;
	for (unsigned i = 0; i < race->count; i++)
		runner_close(&race->runner[i]);
	TAILQ_REMOVE(&attempt->egress->races[race->wait], race, in_wait);
	attempt->race = NULL;
	free(race);
}
