/* Lines, and whose turn it is.
 *
 * A line is in a ring when something of it is due and it has room for a lease, in the heap when something will be due,
 * else in neither; settle() decides that whenever something about it has changed. Its first due time is known without a
 * look at the table when a delivery comes to it; when its first one goes the next has to be looked up, once all of a
 * command's writes are in the tables. */
#include "actors/shard/delivery/queue.h"
#include "actors/shard/delivery/queue_heap.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"

#include <stdlib.h>

enum { LINES_PASSED_MAX = 1024 }; /* of accounts that have their share, in one look */

/* Finding ------------------------------------------------------------------------------------------------- */

static struct line_bucket *line_bucket(struct delivery_queue *queue, struct uuid subscription)
{
	return &queue->lines[get_be32(subscription.b + 12) % LINE_BUCKETS];
}

static struct held_bucket *held_bucket(struct delivery_queue *queue, const struct line *line,
                                       struct uuid event)
{
	uint32_t mark = get_be32(event.b + 12) ^ get_be32(line->subscription.b + 12);
	return &queue->held[mark % HELD_BUCKETS];
}

struct line *queue_line(struct delivery_queue *queue, struct account_id account, struct uuid subscription)
{
	struct line *line;
	LIST_FOREACH(line, line_bucket(queue, subscription), in_bucket)
	{
		if (!memcmp(line->subscription.b, subscription.b, sizeof subscription.b) &&
		    !memcmp(line->account.b, account.b, sizeof account.b))
			return line;
	}
	return NULL;
}

static struct held *held_find(struct delivery_queue *queue, const struct line *line,
                              const struct delivery *row)
{
	struct held *held;
	LIST_FOREACH(held, held_bucket(queue, line, row->event), in_bucket)
	{
		if (held->line == line && held->due.v == row->due.v &&
		    !memcmp(held->event.b, row->event.b, sizeof row->event.b))
			return held;
	}
	return NULL;
}

/* Places -------------------------------------------------------------------------------------------------- */

static uint32_t leases_of(const struct line *line)
{
	static const uint32_t most[LINE_HEALTHS] = {LINE_SOUND_MAX, LINE_NEW_MAX, LINE_DOUBTFUL_MAX};
	if (line->health == LINE_DOUBTFUL && line->does_answer) return LINE_SLOW_MAX;
	return most[line->health];
}

static void unsettle(struct delivery_queue *queue, struct line *line)
{
	if (line->place == LINE_READY) TAILQ_REMOVE(&queue->ready[line->health], line, in_ring);
	if (line->place == LINE_LATER) heap_take(queue, line->heap_at);
	line->place = LINE_RESTING;
}

/* There is room in the heap for every line. Whether it is due yet, queue_is_ready() and queue_turn() see. */
static void settle(struct delivery_queue *queue, struct line *line)
{
	if (line->due.v == NO_DUE || line->leased >= leases_of(line)) {
		unsettle(queue, line);
		return;
	}
	if (line->place == LINE_READY) return;
	if (line->place == LINE_LATER) {
		heap_moved(queue, line->heap_at);
		return;
	}
	line->place = LINE_LATER;
	heap_add(queue, line);
}

static bool make_room(struct line ***rows, size_t *room, size_t needed)
{
	if (needed <= *room) return true;
	size_t        wanted = *room ? *room * 2 : 64;
	struct line **more = realloc(*rows, wanted * sizeof *more);
	if (!more) return false;
	*rows = more;
	*room = wanted;
	return true;
}

/* Owners -------------------------------------------------------------------------------------------------- */

static struct owner_bucket *owner_bucket(struct delivery_queue *queue, struct account_id account)
{
	return &queue->owners[get_be32(account.b + sizeof account.b - 4) % HELD_BUCKETS];
}

/* Made if there is none; NULL without memory. */
static struct line_owner *owner_of(struct delivery_queue *queue, struct account_id account)
{
	struct owner_bucket *bucket = owner_bucket(queue, account);
	struct line_owner   *owner;
	LIST_FOREACH(owner, bucket, in_bucket)
	{
		if (!memcmp(owner->account.b, account.b, sizeof account.b)) return owner;
	}
	if (!(owner = calloc(1, sizeof *owner))) return NULL;
	owner->account = account;
	LIST_INSERT_HEAD(bucket, owner, in_bucket);
	return owner;
}

static void owner_leave(struct line_owner *owner)
{
	if (--owner->lines) return;
	LIST_REMOVE(owner, in_bucket);
	free(owner);
}

/* Lines --------------------------------------------------------------------------------------------------- */

/* The line of a row; made if there is none. NULL without memory. */
static struct line *line_of(struct delivery_queue *queue, const struct delivery *row)
{
	struct line *line = queue_line(queue, row->account, row->subscription);
	if (line) return line;
	if (!make_room(&queue->heap, &queue->heap_room, queue->line_count + 1)) return NULL;
	struct line_owner *owner = owner_of(queue, row->account);
	if (!owner) return NULL;
	owner->lines++;
	if (!(line = calloc(1, sizeof *line))) {
		owner_leave(owner);
		return NULL;
	}
	line->owner = owner;
	line->account = row->account;
	line->subscription = row->subscription;
	line->health = LINE_NEW;
	line->place = LINE_RESTING;
	line->due.v = NO_DUE;
	LIST_INSERT_HEAD(line_bucket(queue, row->subscription), line, in_bucket);
	queue->line_count++;
	return line;
}

static void line_end(struct delivery_queue *queue, struct line *line)
{
	unsettle(queue, line);
	LIST_REMOVE(line, in_bucket);
	queue->line_count--;
	owner_leave(line->owner);
	free(line);
}

/* That an endpoint answers is worth knowing for a while, when nothing is to be sent to it too. */
static void settle_or_end(struct delivery_queue *queue, struct line *line)
{
	bool known = line->health == LINE_SOUND && queue->line_count <= LINES_KEPT_MAX;
	if (line->due.v == NO_DUE && line->leased == 0 && !known)
		line_end(queue, line);
	else
		settle(queue, line);
}

/* Noting writes ------------------------------------------------------------------------------------------- */

static enum err hold(struct delivery_queue *queue, struct line *line, const struct delivery *row, mono_us now)
{
	struct held *held = calloc(1, sizeof *held);
	if (!held) return ERR_NO_MEMORY;
	*held = (struct held){.line = line,
	                      .due = row->due,
	                      .event = row->event,
	                      .instance = row->instance,
	                      .until = mono_after(now, (dur_us){LEASE_MS * US_PER_MS})};
	held->is_young = line->health == LINE_NEW;
	queue->young += held->is_young;
	if (!queue->first_young) queue->first_young = held;
	TAILQ_INSERT_TAIL(&queue->held_by_age, held, by_age);
	LIST_INSERT_HEAD(held_bucket(queue, line, row->event), held, in_bucket);
	line->leased++;
	line->owner->leased++;
	queue->leased[line->health]++;
	return OK;
}

static void release(struct delivery_queue *queue, struct line *line, const struct delivery *row)
{
	struct held *held = held_find(queue, line, row);
	must(held && line->leased && queue->leased[line->health]);
	queue->young -= held->is_young;
	if (queue->first_young == held) queue->first_young = TAILQ_NEXT(held, by_age);
	TAILQ_REMOVE(&queue->held_by_age, held, by_age);
	LIST_REMOVE(held, in_bucket);
	free(held);
	line->leased--;
	line->owner->leased--;
	queue->leased[line->health]--;
}

static enum err make_stale(struct delivery_queue *queue, struct line *line)
{
	if (line->is_stale) return OK;
	if (!make_room(&queue->stale, &queue->stale_room, queue->stale_count + 1)) return ERR_NO_MEMORY;
	line->is_stale = true;
	queue->stale[queue->stale_count++] = line;
	return OK;
}

/* One write of a row: put, or deleted. */
static enum err saw_row(struct delivery_queue *queue, const struct delivery *row, bool put, mono_us now)
{
	struct line *line = line_of(queue, row);
	enum err     err;
	if (!line) return ERR_NO_MEMORY;
	if (row->zone == ZONE_LEASED) {
		if (!put)
			release(queue, line, row);
		else if ((err = hold(queue, line, row, now)))
			return err;
	} else if (put && row->due.v < line->due.v) {
		line->due = row->due;
	} else if (!put && row->due.v == line->due.v) {
		return make_stale(queue, line);
	} else if (put) {
		return OK;
	}
	/* A line that could end now may still be written to by this command: it is looked at once all is in. */
	if (!line->leased && line->due.v == NO_DUE) return make_stale(queue, line);
	settle(queue, line);
	return OK;
}

/* The first delivery that waits, as the tables have it. */
static enum err look_up(struct line *line, struct view *view)
{
	struct delivery row = {
	    .account = line->account, .subscription = line->subscription, .zone = ZONE_WAITING};
	enum err err = delivery_from(view, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	bool own = !err && !memcmp(row.account.b, line->account.b, sizeof row.account.b) &&
	           !memcmp(row.subscription.b, line->subscription.b, sizeof row.subscription.b);
	line->due.v = own ? row.due.v : NO_DUE;
	line->is_stale = false;
	return OK;
}

static enum err look_up_stale(struct delivery_queue *queue, struct view *view)
{
	while (queue->stale_count) {
		struct line *line = queue->stale[queue->stale_count - 1];
		enum err     err = look_up(line, view);
		if (err) return err; /* it stays, and is looked up after the next command */
		queue->stale_count--;
		unsettle(queue, line);
		settle_or_end(queue, line);
	}
	return OK;
}

enum err queue_saw(struct delivery_queue *queue, const struct writes *writes, struct view *view, mono_us now)
{
	for (unsigned i = 0; i < writes->count; i++) {
		const struct write *write = &writes->rows[i];
		struct delivery     row;
		if (write->table != TABLE_DELIVERY) continue;
		enum err err = delivery_key_read(write->key, &row);
		if (!err && write->kind == WRITE_PUT) err = delivery_read(write->key, write->value, &row);
		if (err || (err = saw_row(queue, &row, write->kind == WRITE_PUT, now))) return err;
	}
	return look_up_stale(queue, view);
}

/* Turns --------------------------------------------------------------------------------------------------- */

/* Leases of a second are young no more. */
static void age(struct delivery_queue *queue, mono_us now)
{
	struct held *held;
	while ((held = queue->first_young)) {
		if (held->until.v - (LEASE_MS - LINE_YOUNG_MS) * US_PER_MS > now.v) return;
		queue->young -= held->is_young;
		held->is_young = false;
		queue->first_young = TAILQ_NEXT(held, by_age);
	}
}

static uint32_t left_of(uint32_t most, uint32_t taken)
{
	return taken < most ? most - taken : 0;
}

/* Leases that lines of this health, and of worse, may have together: the rest is for those that answer. How many of them
 * are left. Those to endpoints that nothing is known of are given out evenly over the time that an attempt may take: if
 * thousands hang, some of their places come free in every second, and the next one unknown does not wait for that long. */
static uint32_t left_for(const struct delivery_queue *queue, enum line_health health)
{
	uint32_t all = queue->leases_max, sum = 0;
	uint32_t most = health == LINE_SOUND ? all : health == LINE_NEW ? all / 4 * 3 : all / 2;
	for (unsigned i = health; i < LINE_HEALTHS; i++)
		sum += queue->leased[i] + queue->promised[i];
	uint32_t left = left_of(most, sum);
	if (health != LINE_NEW) return left;
	uint32_t young_max = most * LINE_YOUNG_MS / EGRESS_ATTEMPT_MS;
	if (young_max < LINE_YOUNG_MIN) young_max = LINE_YOUNG_MIN;
	uint32_t young_left = left_of(young_max, queue->young + queue->promised[LINE_NEW]);
	return young_left < left ? young_left : left;
}

/* How many leases of those the line may be given. Of lines that answer quickly no account has more than it leaves: if they
 * hang all at once, there is one for the next account all the same. The other lines have few, each and together. */
static uint32_t share_of(const struct delivery_queue *queue, const struct line *line)
{
	uint32_t left = left_for(queue, line->health), own = line->owner->leased;
	if (line->health != LINE_SOUND) return left;
	return left > own ? (left - own + 1) / 2 : 0;
}

/* What has come due goes from the heap to the end of its ring; of very many that come due at once, the rest in later turns. */
static void wake(struct delivery_queue *queue, wall_us now)
{
	for (unsigned i = 0; i < LINES_WOKEN_MAX; i++) {
		if (!queue->heap_count || line_ready_at(queue->heap[0]) > now.v) return;
		struct line *line = queue->heap[0];
		heap_take(queue, 0);
		line->place = LINE_READY;
		TAILQ_INSERT_TAIL(&queue->ready[line->health], line, in_ring);
	}
}

/* The oldest of a ring; of lines that nothing is known of, every other time the newest, if it has had no turn yet: it need
 * not wait for thousands that came at once before it, of which most may hang. */
static struct line *first_of(const struct delivery_queue *queue, enum line_health health)
{
	const struct line_ring *ring = &queue->ready[health];
	struct line            *newest = TAILQ_LAST(ring, line_ring);
	if (health == LINE_NEW && newest && newest->turn == 0 && queue->turn % 2) return newest;
	return TAILQ_FIRST(ring);
}

/* The first in its turn that may be given something. Who has had it by this command stands behind all others. */
static struct line *next_of(const struct delivery_queue *queue, enum line_health health)
{
	struct line *line = left_for(queue, health) ? first_of(queue, health) : NULL;
	for (unsigned i = 0; line && line->turn != queue->turn && i < LINES_PASSED_MAX; i++) {
		if (share_of(queue, line)) return line; /* of lines that are not sound always the first */
		line = TAILQ_NEXT(line, in_ring);
	}
	return NULL;
}

/* Each health is the first to be asked in its turn: no kind of line waits for all of another. */
static struct line *next_ready(struct delivery_queue *queue)
{
	for (unsigned i = 0; i < LINE_HEALTHS; i++) {
		struct line *line = next_of(queue, (enum line_health)((queue->turn + i) % LINE_HEALTHS));
		if (line) return line;
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
	return (wall_us){queue->heap_count ? line_ready_at(queue->heap[0]) : NO_DUE};
}

void queue_turn_begin(struct delivery_queue *queue, mono_us now)
{
	age(queue, now);
	queue->turn++;
	memset(queue->promised, 0, sizeof queue->promised);
}

void queue_promise(struct delivery_queue *queue, const struct line *line, uint32_t count)
{
	queue->promised[line->health] += count;
}

/* Is nobody else's turn to come after this one's? */
static bool is_alone(const struct delivery_queue *queue, const struct line *line)
{
	for (unsigned i = 0; i < LINE_HEALTHS; i++) {
		const struct line *first = TAILQ_FIRST(&queue->ready[i]);
		if (first && (first != line || TAILQ_NEXT(first, in_ring))) return false;
	}
	return true;
}

struct line *queue_turn(struct delivery_queue *queue, wall_us service_now, uint32_t *room)
{
	wake(queue, service_now);
	struct line *line = next_ready(queue);
	if (!line) return NULL;
	line->turn = queue->turn;
	*room = leases_of(line) - line->leased;
	if (*room > LINE_TURN_MAX && !is_alone(queue, line)) *room = LINE_TURN_MAX;
	if (*room > share_of(queue, line)) *room = share_of(queue, line);
	TAILQ_REMOVE(&queue->ready[line->health], line, in_ring);
	TAILQ_INSERT_TAIL(&queue->ready[line->health], line, in_ring);
	return line;
}

const struct held *queue_expired(const struct delivery_queue *queue, mono_us now, const struct held *previous)
{
	const struct held *oldest = previous ? TAILQ_NEXT(previous, by_age)
	                                     : TAILQ_FIRST(&queue->held_by_age);
	if (!oldest) return NULL;
	bool orphan = queue->instance && oldest->instance != queue->instance;
	return orphan || oldest->until.v <= now.v ? oldest : NULL;
}

void queue_meet(struct delivery_queue *queue, uint64_t instance)
{
	queue->instance = instance;
}

void queue_note(struct delivery_queue *queue, struct line *line, enum line_health health, bool does_answer)
{
	if (line->health == health && line->does_answer == does_answer) return;
	unsettle(queue, line);
	queue->leased[line->health] -= line->leased;
	queue->leased[health] += line->leased;
	line->health = health;
	line->does_answer = does_answer;
	settle(queue, line);
}

void queue_hold(struct delivery_queue *queue, struct line *line, wall_us until)
{
	if (until.v <= line->hold.v) return;
	unsettle(queue, line);
	line->hold = until;
	settle(queue, line);
}

uint32_t queue_leases(const struct delivery_queue *queue)
{
	uint32_t sum = 0;
	for (int i = 0; i < LINE_HEALTHS; i++)
		sum += queue->leased[i];
	return sum;
}

/* Beginning and end --------------------------------------------------------------------------------------- */

enum err queue_load(struct delivery_queue *queue, struct view *view, uint32_t leases_max, mono_us now)
{
	struct delivery row = {.due = {0}};
	enum err        err;
	queue->leases_max = leases_max;
	TAILQ_INIT(&queue->held_by_age);
	for (int i = 0; i < LINE_HEALTHS; i++)
		TAILQ_INIT(&queue->ready[i]);
	err = delivery_from(view, &row);
	while (!err) {
		if ((err = saw_row(queue, &row, true, now))) break;
		if (row.zone == ZONE_WAITING) { /* the others of the line come later */
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
	struct held *held;
	while ((held = TAILQ_FIRST(&queue->held_by_age))) {
		TAILQ_REMOVE(&queue->held_by_age, held, by_age);
		free(held);
	}
	for (unsigned i = 0; i < LINE_BUCKETS; i++) {
		struct line *line;
		while ((line = LIST_FIRST(&queue->lines[i]))) {
			LIST_REMOVE(line, in_bucket);
			owner_leave(line->owner);
			free(line);
		}
	}
	free(queue->heap);
	free(queue->stale);
	*queue = (struct delivery_queue){.heap = NULL};
}
