/* Endpoints: their waiting attempts, and whose turn it is.
 *
 * Every endpoint has its own queue, and those with room take turns: ten thousand waiting attempts of one do not delay a single
 * one of another. Whether an endpoint responds is known only afterwards. So each is taken for sound until an attempt was slow;
 * then it is doubtful until one is quick. Doubtful endpoints share half of all places, however many they are.
 *
 * An endpoint is a host and port as one owner uses it. Many owners may name the same gateway, which may answer some and let
 * others wait. Owners affect each other only through the places that they hold there together (host.c). An endpoint that waits
 * for those is HELD, and checked again in the turn after any place was freed. */
#include "actors/timer/egress_inside.h"
#include "schemas/keyed_hash.h"
#include "schemas/limits.h"

#include <stdlib.h>
#include <string.h>

static struct bucket *bucket_of(struct egress *egress, struct account_id owner, const char *origin)
{
	uint64_t hash = keyed_hash(span_str(origin)) ^ keyed_hash(span_of(&owner, sizeof owner));

	return &egress->bucket[hash % BUCKET_COUNT];
}

static void leave_line(struct endpoint *endpoint)
{
	struct egress *egress = endpoint->host->egress;

	TAILQ_REMOVE(&egress->line[endpoint->line], endpoint, in_line);
	if (endpoint->line == IDLE) egress->idle_count--;
}

static void join_line(struct endpoint *endpoint, enum line line)
{
	struct egress *egress = endpoint->host->egress;

	endpoint->line = line;
	TAILQ_INSERT_TAIL(&egress->line[line], endpoint, in_line);
	if (line != IDLE) return;
	egress->idle_count++;
	endpoint->idle_since = egress->now;
}

struct endpoint *endpoint_of(struct egress *egress, struct account_id owner, const struct url *url)
{
	struct bucket   *bucket = bucket_of(egress, owner, url->origin);
	struct endpoint *endpoint;
	struct host     *host;

	LIST_FOREACH(endpoint, bucket, in_bucket)
	if (account_same(endpoint->owner, owner) && !strcmp(endpoint->host->origin, url->origin))
		return endpoint;
	if (!(host = host_of(egress, url))) return NULL;
	if (!(endpoint = calloc(1, sizeof *endpoint))) {
		host_settle(host);
		return NULL;
	}
	endpoint->owner = owner;
	endpoint->host = host;
	host->endpoint_count++;
	TAILQ_INIT(&endpoint->waiting);
	LIST_INSERT_HEAD(bucket, endpoint, in_bucket);
	join_line(endpoint, IDLE);
	return endpoint;
}

/* ---- places ---- */

void endpoint_enter(struct attempt *attempt)
{
	struct endpoint *endpoint = attempt->endpoint;

	attempt->is_doubtful = endpoint->is_doubtful;
	endpoint->running++;
	endpoint->host->running++;
	endpoint->host->doubtful_running += attempt->is_doubtful;
	attempt->egress->running++;
	attempt->egress->doubtful_running += attempt->is_doubtful;
}

void endpoint_leave(struct attempt *attempt)
{
	struct endpoint *endpoint = attempt->endpoint;

	endpoint->running--;
	endpoint->host->running--;
	endpoint->host->doubtful_running -= attempt->is_doubtful;
	attempt->egress->running--;
	attempt->egress->doubtful_running -= attempt->is_doubtful;
	attempt->egress->has_freed = true;
}

static bool has_room(const struct endpoint *endpoint)
{
	uint32_t max = endpoint->host->egress->options.endpoint_max;

	if (endpoint->is_doubtful && max > EGRESS_DOUBTFUL_MAX) max = EGRESS_DOUBTFUL_MAX;
	return endpoint->running < max;
}

void endpoint_settle(struct endpoint *endpoint)
{
	enum line line = BUSY;

	if (!TAILQ_EMPTY(&endpoint->waiting)) {
		if (has_room(endpoint)) line = endpoint->is_doubtful ? READY_DOUBTFUL : READY_SOUND;
		if (line != BUSY && !host_has_room(endpoint)) line = HELD;
	} else if (endpoint->running == 0) {
		line = IDLE;
	}
	if (line == endpoint->line) return;
	leave_line(endpoint);
	join_line(endpoint, line);
}

void endpoints_unhold(struct egress *egress)
{
	struct endpoint *endpoint, *next;

	if (!egress->has_freed) return;
	egress->has_freed = false;
	for (endpoint = TAILQ_FIRST(&egress->line[HELD]); endpoint; endpoint = next) {
		next = TAILQ_NEXT(endpoint, in_line);
		endpoint_settle(endpoint);
	}
}

/* ---- turns ---- */

/* The first of a queue if there is a place for it. */
static struct endpoint *first_of(const struct egress *egress, enum line line)
{
	uint32_t doubtful_max = egress->options.attempts_max / 2;

	if (egress->running >= egress->options.attempts_max) return NULL;
	if (line == READY_DOUBTFUL && egress->doubtful_running > 0 &&
	    egress->doubtful_running >= doubtful_max)
		return NULL;
	return TAILQ_FIRST(&egress->line[line]);
}

bool endpoint_is_next(const struct egress *egress)
{
	bool may_unhold = egress->has_freed && !TAILQ_EMPTY(&egress->line[HELD]);

	return may_unhold || first_of(egress, READY_SOUND) || first_of(egress, READY_DOUBTFUL);
}

/* Another endpoint may have taken its room since. */
static struct endpoint *first_with_room(struct egress *egress, enum line line)
{
	struct endpoint *first;

	while ((first = first_of(egress, line)) && !host_has_room(first))
		endpoint_settle(first);
	return first;
}

struct endpoint *endpoint_next(struct egress *egress)
{
	struct endpoint *sound = first_with_room(egress, READY_SOUND);
	struct endpoint *doubtful = first_with_room(egress, READY_DOUBTFUL);
	struct endpoint *next = sound && !(doubtful && egress->doubtful_next) ? sound : doubtful;

	if (!next) return NULL;
	egress->doubtful_next = next == sound;
	/* To the end of its queue; endpoint_settle() leaves it there if it is still ready. */
	leave_line(next);
	join_line(next, next->line);
	return next;
}

/* ---- cleanup ---- */

static void forget(struct endpoint *endpoint)
{
	leave_line(endpoint);
	LIST_REMOVE(endpoint, in_bucket);
	endpoint->host->endpoint_count--;
	host_settle(endpoint->host);
	free(endpoint);
}

void endpoints_forget(struct egress *egress, mono_us now)
{
	struct endpoint *oldest;

	while ((oldest = TAILQ_FIRST(&egress->line[IDLE]))) {
		bool is_old = mono_since(now, oldest->idle_since).v > EGRESS_IDLE_S * US_PER_SEC;
		if (!is_old && egress->idle_count <= EGRESS_ENDPOINTS_IDLE_MAX) return;
		forget(oldest);
	}
}

void endpoints_free(struct egress *egress)
{
	struct endpoint *first;

	for (unsigned line = 0; line < LINE_COUNT; line++)
		while ((first = TAILQ_FIRST(&egress->line[line])))
			forget(first);
}
