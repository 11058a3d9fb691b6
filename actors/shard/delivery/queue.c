/* Lanes, and whose turn it is.
 *
 * A lane is in a ring if it has something due and may get a lease, in an agenda if something will be due, else in neither.
 * settle() decides this after every change. A new delivery updates the lane's first due time without a read of the table. When
 * the first delivery leaves, the next one is looked up, after all writes of the command are in the tables. */
#include "actors/shard/delivery/queue.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"

#include <stddef.h>
#include <stdlib.h>

enum { LANES_PASSED_MAX = 1024 }; /* lanes of accounts at their limit that one search skips */

/* Finding ------------------------------------------------------------------------------------------------- */

static struct lane_bucket *lane_bucket(struct delivery_queue *queue, struct uuid subscription)
{
	return &queue->lanes[get_be32(subscription.b + 12) % LANE_BUCKETS];
}

static struct lease_bucket *lease_bucket(struct delivery_queue *queue, const struct lane *lane,
                                         struct uuid event)
{
	uint32_t mark = get_be32(event.b + 12) ^ get_be32(lane->subscription.b + 12);
	return &queue->lease[mark % LEASE_BUCKETS];
}

struct lane *queue_lane(struct delivery_queue *queue, struct account_id account, struct uuid subscription)
{
	struct lane *lane;
	LIST_FOREACH(lane, lane_bucket(queue, subscription), in_bucket)
	{
		if (uuid_same(lane->subscription, subscription) && account_same(lane->account, account))
			return lane;
	}
	return NULL;
}

static struct held_lease *lease_find(struct delivery_queue *queue, const struct lane *lane,
                                     const struct delivery *row)
{
	struct held_lease *lease;
	LIST_FOREACH(lease, lease_bucket(queue, lane, row->event), in_bucket)
	{
		if (lease->lane == lane && lease->due.v == row->due.v && uuid_same(lease->event, row->event))
			return lease;
	}
	return NULL;
}

/* States -------------------------------------------------------------------------------------------------- */

static uint32_t leases_of(const struct lane *lane)
{
	static const uint32_t most[LANE_HEALTHS] = {LANE_SOUND_MAX, LANE_NEW_MAX, LANE_DOUBTFUL_MAX};
	if (lane->health == LANE_DOUBTFUL && lane->does_answer) return LANE_SLOW_MAX;
	return most[lane->health];
}

static void unsettle(struct delivery_queue *queue, struct lane *lane)
{
	if (lane->state == LANE_READY) TAILQ_REMOVE(&queue->ready[lane->health], lane, in_ring);
	agenda_drop(&queue->later, &lane->later);
	lane->state = LANE_RESTING;
}

static int64_t ready_at(const struct lane *lane)
{
	return lane->hold.v > lane->due.v ? lane->hold.v : lane->due.v;
}

/* queue_is_ready() and queue_turn() check whether the lane is due. */
static void settle(struct delivery_queue *queue, struct lane *lane)
{
	if (lane->due.v == NO_DUE || lane->leased >= leases_of(lane)) {
		unsettle(queue, lane);
		return;
	}
	if (lane->state == LANE_READY) return;
	lane->state = LANE_LATER;
	must(!agenda_put(&queue->later, &lane->later, ready_at(lane))); /* lane_of() made room */
}

/* Owners -------------------------------------------------------------------------------------------------- */

static struct owner_bucket *owner_bucket(struct delivery_queue *queue, struct account_id account)
{
	return &queue->owners[get_be32(account.b + sizeof account.b - 4) % LEASE_BUCKETS];
}

/* Created if missing; NULL: no memory. */
static struct lane_owner *owner_of(struct delivery_queue *queue, struct account_id account)
{
	struct owner_bucket *bucket = owner_bucket(queue, account);
	struct lane_owner   *owner;
	LIST_FOREACH(owner, bucket, in_bucket)
	{
		if (account_same(owner->account, account)) return owner;
	}
	if (!(owner = calloc(1, sizeof *owner))) return NULL;
	owner->account = account;
	LIST_INSERT_HEAD(bucket, owner, in_bucket);
	return owner;
}

static void owner_leave(struct lane_owner *owner)
{
	if (--owner->lanes) return;
	LIST_REMOVE(owner, in_bucket);
	free(owner);
}

/* Lanes --------------------------------------------------------------------------------------------------- */

/* The lane of a row, created if missing; NULL: no memory. */
static struct lane *lane_of(struct delivery_queue *queue, const struct delivery *row)
{
	struct lane *lane = queue_lane(queue, row->account, row->subscription);
	if (lane) return lane;
	if (agenda_reserve(&queue->later, queue->lane_count + 1)) return NULL;
	struct lane_owner *owner = owner_of(queue, row->account);
	if (!owner) return NULL;
	owner->lanes++;
	if (!(lane = calloc(1, sizeof *lane))) {
		owner_leave(owner);
		return NULL;
	}
	lane->owner = owner;
	lane->account = row->account;
	lane->subscription = row->subscription;
	lane->health = LANE_NEW;
	lane->state = LANE_RESTING;
	lane->due.v = NO_DUE;
	LIST_INSERT_HEAD(lane_bucket(queue, row->subscription), lane, in_bucket);
	queue->lane_count++;
	return lane;
}

static void line_end(struct delivery_queue *queue, struct lane *lane)
{
	unsettle(queue, lane);
	LIST_REMOVE(lane, in_bucket);
	queue->lane_count--;
	owner_leave(lane->owner);
	free(lane);
}

/* A sound lane is kept for a while even when it is empty, to remember that its endpoint responds. */
static void settle_or_end(struct delivery_queue *queue, struct lane *lane)
{
	bool known = lane->health == LANE_SOUND && queue->lane_count <= LINES_KEPT_MAX;
	if (lane->due.v == NO_DUE && lane->leased == 0 && !known)
		line_end(queue, lane);
	else
		settle(queue, lane);
}

/* Noting writes ------------------------------------------------------------------------------------------- */

static enum err hold(struct delivery_queue *queue, struct lane *lane, const struct delivery *row, mono_us now)
{
	struct held_lease *lease = calloc(1, sizeof *lease);
	if (!lease) return ERR_NO_MEMORY;
	*lease = (struct held_lease){.lane = lane,
	                             .due = row->due,
	                             .event = row->event,
	                             .instance = row->instance,
	                             .until = mono_after(now, (dur_us){LEASE_MS * US_PER_MS})};
	lease->is_recent = lane->health == LANE_NEW;
	queue->recent += lease->is_recent;
	if (!queue->first_recent) queue->first_recent = lease;
	TAILQ_INSERT_TAIL(&queue->leases_by_age, lease, by_age);
	LIST_INSERT_HEAD(lease_bucket(queue, lane, row->event), lease, in_bucket);
	lane->leased++;
	lane->owner->leased++;
	queue->leased[lane->health]++;
	return OK;
}

static void release(struct delivery_queue *queue, struct lane *lane, const struct delivery *row)
{
	struct held_lease *lease = lease_find(queue, lane, row);
	must(lease && lane->leased && queue->leased[lane->health]);
	queue->recent -= lease->is_recent;
	if (queue->first_recent == lease) queue->first_recent = TAILQ_NEXT(lease, by_age);
	TAILQ_REMOVE(&queue->leases_by_age, lease, by_age);
	LIST_REMOVE(lease, in_bucket);
	free(lease);
	lane->leased--;
	lane->owner->leased--;
	queue->leased[lane->health]--;
}

static void make_stale(struct delivery_queue *queue, struct lane *lane)
{
	if (!lane->is_stale) TAILQ_INSERT_HEAD(&queue->stale, lane, in_stale);
	lane->is_stale = true;
}

/* One write of a row: stored (`put`) or deleted. */
static enum err on_row(struct delivery_queue *queue, const struct delivery *row, bool put, mono_us now)
{
	struct lane *lane = lane_of(queue, row);
	enum err     err;
	if (!lane) return ERR_NO_MEMORY;
	if (row->zone == ZONE_LEASED) {
		if (!put)
			release(queue, lane, row);
		else if ((err = hold(queue, lane, row, now)))
			return err;
	} else if (put && row->due.v < lane->due.v) {
		lane->due = row->due;
	} else if (!put && row->due.v == lane->due.v) {
		make_stale(queue, lane);
		return OK;
	} else if (put) {
		return OK;
	}
	/* The command may still write to a lane that seems empty: check it after all writes. */
	if (!lane->leased && lane->due.v == NO_DUE)
		make_stale(queue, lane);
	else
		settle(queue, lane);
	return OK;
}

/* Reads the first waiting delivery from the tables. */
static enum err look_up(struct lane *lane, struct view *view)
{
	struct delivery row = {
	    .account = lane->account, .subscription = lane->subscription, .zone = ZONE_WAITING};
	enum err err = delivery_from(view, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	bool own = !err && account_same(row.account, lane->account) &&
	           uuid_same(row.subscription, lane->subscription);
	lane->due.v = own ? row.due.v : NO_DUE;
	lane->is_stale = false;
	return OK;
}

static enum err look_up_stale(struct delivery_queue *queue, struct view *view)
{
	struct lane *lane;
	while ((lane = TAILQ_FIRST(&queue->stale))) {
		enum err err = look_up(lane, view);
		if (err) return err; /* the lane stays stale and is looked up after the next command */
		TAILQ_REMOVE(&queue->stale, lane, in_stale);
		unsettle(queue, lane);
		settle_or_end(queue, lane);
	}
	return OK;
}

enum err queue_on_writes(struct delivery_queue *queue, const struct writes *writes, struct view *view,
                         mono_us now)
{
	for (unsigned i = 0; i < writes->count; i++) {
		const struct write *write = &writes->rows[i];
		struct delivery     row;
		if (write->table != TABLE_DELIVERY) continue;
		enum err err = delivery_key_read(write->key, &row);
		if (!err && write->kind == WRITE_PUT) err = delivery_read(write->key, write->value, &row);
		if (err || (err = on_row(queue, &row, write->kind == WRITE_PUT, now))) return err;
	}
	return look_up_stale(queue, view);
}

/* Turns --------------------------------------------------------------------------------------------------- */

/* Leases older than a second stop being recent. */
static void age(struct delivery_queue *queue, mono_us now)
{
	struct held_lease *lease;
	while ((lease = queue->first_recent)) {
		if (lease->until.v - (LEASE_MS - LANE_RECENT_MS) * US_PER_MS > now.v) return;
		queue->recent -= lease->is_recent;
		lease->is_recent = false;
		queue->first_recent = TAILQ_NEXT(lease, by_age);
	}
}

static uint32_t left_of(uint32_t most, uint32_t taken)
{
	return taken < most ? most - taken : 0;
}

/* Leases left for lanes of this health. Lanes of this and worse health share a limit; the rest is for endpoints that respond.
 * Leases of unknown endpoints are spread over the duration of an attempt. So if thousands hang, some places come free every
 * second for the next unknown one. */
static uint32_t left_for(const struct delivery_queue *queue, enum lane_health health)
{
	uint32_t all = queue->leases_max, sum = 0;
	uint32_t most = health == LANE_SOUND ? all : health == LANE_NEW ? all / 4 * 3 : all / 2;
	for (unsigned i = health; i < LANE_HEALTHS; i++)
		sum += queue->leased[i] + queue->reserved[i];
	uint32_t left = left_of(most, sum);
	if (health != LANE_NEW) return left;
	uint32_t recent_max = most * LANE_RECENT_MS / EGRESS_ATTEMPT_MS;
	if (recent_max < LANE_RECENT_MIN) recent_max = LANE_RECENT_MIN;
	uint32_t recent_left = left_of(recent_max, queue->recent + queue->reserved[LANE_NEW]);
	return recent_left < left ? recent_left : left;
}

/* How many of these leases the lane may get. Among sound lanes an account never has more leases than it leaves free, so a
 * lease is left for the next account even if all endpoints hang. The other lanes have lower limits, each and together. */
static uint32_t share_of(const struct delivery_queue *queue, const struct lane *lane)
{
	uint32_t left = left_for(queue, lane->health), own = lane->owner->leased;
	if (lane->health != LANE_SOUND) return left;
	return left > own ? (left - own + 1) / 2 : 0;
}

static struct lane *first_later(const struct delivery_queue *queue)
{
	return agenda_owner(agenda_first(&queue->later), offsetof(struct lane, later));
}

/* Moves lanes that are due from the agenda to the end of their ring; at most LINES_WOKEN_MAX a call. */
static void wake(struct delivery_queue *queue, wall_us now)
{
	for (unsigned i = 0; i < LINES_WOKEN_MAX; i++) {
		struct lane *lane = first_later(queue);
		if (!lane || lane->later.at > now.v) return;
		agenda_drop(&queue->later, &lane->later);
		lane->state = LANE_READY;
		TAILQ_INSERT_TAIL(&queue->ready[lane->health], lane, in_ring);
	}
}

/* The oldest lane of a ring. Among unknown lanes, every other turn takes the newest if it has had none. So a new lane need not
 * wait behind thousands that arrived at once and may hang. */
static struct lane *first_of(const struct delivery_queue *queue, enum lane_health health)
{
	const struct lane_ring *ring = &queue->ready[health];
	struct lane            *newest = TAILQ_LAST(ring, lane_ring);
	if (health == LANE_NEW && newest && newest->turn == 0 && queue->turn % 2) return newest;
	return TAILQ_FIRST(ring);
}

/* The first lane in its ring that may get leases. Lanes already served by this command are at the end. */
static struct lane *next_of(const struct delivery_queue *queue, enum lane_health health)
{
	struct lane *lane = left_for(queue, health) ? first_of(queue, health) : NULL;
	for (unsigned i = 0; lane && lane->turn != queue->turn && i < LANES_PASSED_MAX; i++) {
		if (share_of(queue, lane)) return lane; /* lanes that are not sound: always the first */
		lane = TAILQ_NEXT(lane, in_ring);
	}
	return NULL;
}

/* Each health is asked first in turn, so that no kind of lane waits for all of another. */
static struct lane *next_ready(struct delivery_queue *queue)
{
	for (unsigned i = 0; i < LANE_HEALTHS; i++) {
		struct lane *lane = next_of(queue, (enum lane_health)((queue->turn + i) % LANE_HEALTHS));
		if (lane) return lane;
	}
	return NULL;
}

bool queue_is_ready(struct delivery_queue *queue, wall_us service_now, mono_us now)
{
	queue_turn_begin(queue, now);
	wake(queue, service_now);
	return next_ready(queue) || queue_expired(queue, now, NULL);
}

wall_us queue_next_due(const struct delivery_queue *queue)
{
	const struct agenda_entry *first = agenda_first(&queue->later);
	return (wall_us){first ? first->at : NO_DUE};
}

void queue_turn_begin(struct delivery_queue *queue, mono_us now)
{
	age(queue, now);
	queue->turn++;
	memset(queue->reserved, 0, sizeof queue->reserved);
}

void queue_reserve(struct delivery_queue *queue, const struct lane *lane, uint32_t count)
{
	queue->reserved[lane->health] += count;
}

/* Is no other lane ready? */
static bool is_alone(const struct delivery_queue *queue, const struct lane *lane)
{
	for (unsigned i = 0; i < LANE_HEALTHS; i++) {
		const struct lane *first = TAILQ_FIRST(&queue->ready[i]);
		if (first && (first != lane || TAILQ_NEXT(first, in_ring))) return false;
	}
	return true;
}

struct lane *queue_turn(struct delivery_queue *queue, wall_us service_now, uint32_t *room)
{
	wake(queue, service_now);
	struct lane *lane = next_ready(queue);
	if (!lane) return NULL;
	lane->turn = queue->turn;
	*room = leases_of(lane) - lane->leased;
	if (*room > LANE_TURN_MAX && !is_alone(queue, lane)) *room = LANE_TURN_MAX;
	if (*room > share_of(queue, lane)) *room = share_of(queue, lane);
	TAILQ_REMOVE(&queue->ready[lane->health], lane, in_ring);
	TAILQ_INSERT_TAIL(&queue->ready[lane->health], lane, in_ring);
	return lane;
}

const struct held_lease *queue_expired(const struct delivery_queue *queue, mono_us now,
                                       const struct held_lease *previous)
{
	const struct held_lease *oldest = previous ? TAILQ_NEXT(previous, by_age)
	                                           : TAILQ_FIRST(&queue->leases_by_age);
	if (!oldest) return NULL;
	bool orphan = queue->instance && oldest->instance != queue->instance;
	return orphan || oldest->until.v <= now.v ? oldest : NULL;
}

void queue_meet(struct delivery_queue *queue, uint64_t instance)
{
	queue->instance = instance;
}

void queue_note(struct delivery_queue *queue, struct lane *lane, enum lane_health health, bool does_answer)
{
	if (lane->health == health && lane->does_answer == does_answer) return;
	unsettle(queue, lane);
	queue->leased[lane->health] -= lane->leased;
	queue->leased[health] += lane->leased;
	lane->health = health;
	lane->does_answer = does_answer;
	settle(queue, lane);
}

void queue_hold(struct delivery_queue *queue, struct lane *lane, wall_us until)
{
	if (until.v <= lane->hold.v) return;
	unsettle(queue, lane);
	lane->hold = until;
	settle(queue, lane);
}

uint32_t queue_leases(const struct delivery_queue *queue)
{
	return queue->leased[LANE_SOUND] + queue->leased[LANE_NEW] + queue->leased[LANE_DOUBTFUL];
}

/* Beginning and end --------------------------------------------------------------------------------------- */

enum err queue_load(struct delivery_queue *queue, struct view *view, uint32_t leases_max, mono_us now)
{
	struct delivery row = {.due = {0}};
	enum err        err;
	queue->leases_max = leases_max;
	TAILQ_INIT(&queue->leases_by_age);
	TAILQ_INIT(&queue->stale);
	for (int i = 0; i < LANE_HEALTHS; i++)
		TAILQ_INIT(&queue->ready[i]);
	err = delivery_from(view, &row);
	while (!err) {
		if ((err = on_row(queue, &row, true, now))) break;
		if (row.zone == ZONE_WAITING) { /* skips the lane's later rows */
			delivery_skip(&row);
			err = delivery_from(view, &row);
		} else {
			err = delivery_next(view, &row);
		}
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

void queue_free(struct delivery_queue *queue)
{
	struct held_lease *lease;
	while ((lease = TAILQ_FIRST(&queue->leases_by_age))) {
		TAILQ_REMOVE(&queue->leases_by_age, lease, by_age);
		free(lease);
	}
	for (unsigned i = 0; i < LANE_BUCKETS; i++) {
		struct lane *lane;
		while ((lane = LIST_FIRST(&queue->lanes[i]))) {
			LIST_REMOVE(lane, in_bucket);
			owner_leave(lane->owner);
			free(lane);
		}
	}
	agenda_free(&queue->later);
	*queue = (struct delivery_queue){.turn = 0};
}
