/* Work is found by its row's key in a hash table. What is not due lies in an agenda of its kind; a push that is due, in a line of
 * its account; accounts with such lines, in a ring. */
#include "actors/shard/wallet/work_inside.h"

#include "schemas/crc32c.h"

#include <stddef.h>
#include <stdlib.h>

enum { MADE_READY_MAX = 1024 };

static struct wallet_work *of_entry(struct agenda_entry *entry)
{
	return agenda_owner(entry, offsetof(struct wallet_work, entry));
}

static struct work_bucket *bucket_of(struct work_queue *queue, struct account_id account,
                                     enum wallet_due_kind kind, uint32_t number)
{
	uint32_t hash = crc32c(crc32c((uint32_t)kind, account.b, sizeof account.b), &number, sizeof number);
	return &queue->buckets[hash % WORK_BUCKETS];
}

struct wallet_work *work_find(struct work_queue *queue, struct account_id account, enum wallet_due_kind kind,
                              uint32_t number)
{
	struct wallet_work *work;
	LIST_FOREACH(work, bucket_of(queue, account, kind, number), in_bucket)
	if (work->number == number && work->kind == kind && account_same(work->account, account)) return work;
	return NULL;
}

/* Lines --------------------------------------------------------------------------------------------------- */

static struct work_accounts *accounts_of(struct work_queue *queue, struct account_id id)
{
	return &queue->accounts[crc32c(0, id.b, sizeof id.b) % WORK_ACCOUNT_BUCKETS];
}

static struct work_account *account_with(struct work_queue *queue, struct account_id id)
{
	struct work_account *account;
	LIST_FOREACH(account, accounts_of(queue, id), in_bucket)
	if (account_same(account->id, id)) return account;
	if (!(account = calloc(1, sizeof *account))) return NULL;
	account->id = id;
	for (unsigned i = 0; i < WORK_ALL_LINES; i++)
		TAILQ_INIT(&account->lines[i]);
	LIST_INSERT_HEAD(accounts_of(queue, id), account, in_bucket);
	return account;
}

/* Of each lane; 0: no more. */
enum { LANE_KINDS = 2 };
static const enum wallet_due_kind kinds_of_lanes[WORK_LANES][LANE_KINDS] = {
    [WORK_APPLE] = {WALLET_DUE_PUSH}, [WORK_GOOGLE] = {WALLET_DUE_CLASS, WALLET_DUE_GOOGLE}};

static unsigned lane_of(const struct wallet_work *work)
{
	return work->kind == WALLET_DUE_PUSH ? WORK_APPLE : WORK_GOOGLE;
}

static unsigned line_of(const struct wallet_work *work)
{
	return lane_of(work) * WORK_LINES + (work->flags & WALLET_DUE_IS_BULK ? WORK_BULK : WORK_SINGLE);
}

static enum err make_ready(struct work_queue *queue, struct wallet_work *work)
{
	struct work_account *account = account_with(queue, work->account);
	unsigned             line = line_of(work);
	if (!account) return ERR_NO_MEMORY;
	if (TAILQ_EMPTY(&account->lines[line]))
		TAILQ_INSERT_TAIL(&queue->rings[line], account, in_ring[line]);
	TAILQ_INSERT_TAIL(&account->lines[line], work, in_line);
	work->line = account;
	work->state = WORK_READY;
	return OK;
}

static void leave_line(struct work_queue *queue, struct wallet_work *work)
{
	struct work_account *account = work->line;
	unsigned             line = line_of(work);
	bool                 is_empty = true;
	TAILQ_REMOVE(&account->lines[line], work, in_line);
	work->line = NULL;
	if (TAILQ_EMPTY(&account->lines[line])) TAILQ_REMOVE(&queue->rings[line], account, in_ring[line]);
	for (unsigned i = 0; i < WORK_ALL_LINES; i++)
		is_empty &= TAILQ_EMPTY(&account->lines[i]);
	if (!is_empty) return;
	LIST_REMOVE(account, in_bucket);
	free(account);
}

/* Out of whatever its state keeps it in. */
static void take_out(struct work_queue *queue, struct wallet_work *work)
{
	if (work->state == WORK_LATER) agenda_drop(&queue->agendas[work->kind], &work->entry);
	if (work->state == WORK_READY) leave_line(queue, work);
	if (work->state == WORK_LEASED) TAILQ_REMOVE(&queue->leased[lane_of(work)], work, in_line);
	work->state = WORK_TAKEN;
}

enum err work_put_later(struct work_queue *queue, struct wallet_work *work)
{
	int64_t at = work->has_row && work->due.v > work->rests.v ? work->due.v : work->rests.v;
	take_out(queue, work);
	enum err err = agenda_put(&queue->agendas[work->kind], &work->entry, at);
	if (!err) work->state = WORK_LATER;
	return err;
}

static void drop(struct work_queue *queue, struct wallet_work *work)
{
	take_out(queue, work);
	agenda_drop(&queue->ages[work->kind], &work->age);
	LIST_REMOVE(work, in_bucket);
	free(work);
}

/* Rows ---------------------------------------------------------------------------------------------------- */

static enum err on_put(struct work_queue *queue, const struct wallet_due *row)
{
	struct wallet_work *work = work_find(queue, row->account, row->kind, row->number);
	if (!work) {
		if (!(work = calloc(1, sizeof *work))) return ERR_NO_MEMORY;
		work->account = row->account;
		work->kind = (uint8_t)row->kind;
		work->number = row->number;
		work->state = WORK_TAKEN;
		work->rests.v = INT64_MIN;
		LIST_INSERT_HEAD(bucket_of(queue, row->account, row->kind, row->number), work, in_bucket);
	}
	/* Calls of Google may still be under way, of which the last must not be the older one. */
	bool is_called = work->state == WORK_LEASED && lane_of(work) == WORK_GOOGLE && !work->is_reported;
	work->is_changed |= is_called;
	if (!is_called) take_out(queue, work); /* by its former flags */
	queue->counts[row->kind] += !work->has_row;
	work->has_row = true;
	work->waits_for_rest = row->kind == WALLET_DUE_PUSH && !row->tries && row->due.v > row->since.v;
	work->due = row->due;
	work->flags = row->flags;
	if (row->kind == WALLET_DUE_LEFT)
		work->rests.v = INT64_MIN; /* it was put off until its former time */
	enum err err = agenda_put(&queue->ages[row->kind], &work->age,
	                          row->since.v ? row->since.v : row->due.v);
	return err || is_called ? err : work_put_later(queue, work);
}

static enum err on_del(struct work_queue *queue, const struct wallet_due *row, wall_us now)
{
	struct wallet_work *work = work_find(queue, row->account, row->kind, row->number);
	if (!work) return OK;
	queue->counts[row->kind] -= work->has_row;
	agenda_drop(&queue->ages[row->kind], &work->age);
	work->has_row = false;
	if (work->rests.v > now.v) return work_put_later(queue, work);
	drop(queue, work);
	return OK;
}

enum err work_on_writes(struct work_queue *queue, const struct writes *writes, wall_us now)
{
	enum err err = OK;
	for (unsigned i = 0; !err && i < writes->count; i++) {
		const struct write *write = &writes->rows[i];
		struct wallet_due   row;
		if (write->table != TABLE_WALLET_DUE) continue;
		if (write->kind == WRITE_DEL)
			err = wallet_due_key_read(write->key, &row);
		else
			err = wallet_due_read(write->key, write->value, &row);
		if (!err) err = write->kind == WRITE_DEL ? on_del(queue, &row, now) : on_put(queue, &row);
	}
	return err;
}

enum err work_load(struct work_queue **made, struct view *view)
{
	struct wallet_due  row = {.kind = WALLET_DUE_REMOVAL};
	struct work_queue *queue = *made = calloc(1, sizeof *queue);
	if (!queue) return ERR_NO_MEMORY;
	for (unsigned i = 0; i < WORK_LANES; i++)
		TAILQ_INIT(&queue->leased[i]);
	for (unsigned i = 0; i < WORK_ALL_LINES; i++)
		TAILQ_INIT(&queue->rings[i]);
	enum err err = wallet_due_from(view, &row);
	while (!err) {
		if (row.kind == WALLET_DUE_LEFT)
			row.due.v = 0; /* a credential was perhaps put just before the shard ended */
		if ((err = on_put(queue, &row))) return err;
		err = wallet_due_next(view, &row);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

void work_free(struct work_queue **freed)
{
	struct work_queue *queue = *freed;
	*freed = NULL;
	if (!queue) return;
	for (unsigned i = 0; i < WORK_BUCKETS; i++)
		while (!LIST_EMPTY(&queue->buckets[i]))
			drop(queue, LIST_FIRST(&queue->buckets[i]));
	for (unsigned i = 0; i < WALLET_DUE_KINDS_END; i++)
		agenda_free(&queue->agendas[i]), agenda_free(&queue->ages[i]);
	free(queue);
}

/* Taking -------------------------------------------------------------------------------------------------- */

/* The first of the agenda that is due and has a row. What only rested until now is forgotten. */
static struct wallet_work *take_due(struct work_queue *queue, enum wallet_due_kind kind, wall_us now)
{
	struct wallet_work *work;
	while ((work = of_entry(agenda_first(&queue->agendas[kind]))) && work->entry.at <= now.v) {
		if (work->has_row) {
			take_out(queue, work);
			return work;
		}
		drop(queue, work);
	}
	return NULL;
}

const struct wallet_work *work_take(struct work_queue *queue, enum wallet_due_kind kind, wall_us now)
{
	return take_due(queue, kind, now);
}

enum err work_again(struct work_queue *queue, struct account_id account, enum wallet_due_kind kind,
                    uint32_t number, wall_us at)
{
	struct wallet_work *work = work_find(queue, account, kind, number);
	if (!work || work->state != WORK_TAKEN) return OK;
	work->rests = at;
	return work_put_later(queue, work);
}

enum err work_rotate(struct work_queue *queue, struct account_id account, enum wallet_due_kind kind,
                     uint32_t number, wall_us now)
{
	struct wallet_work *work = work_find(queue, account, kind, number);
	if (!work || work->state != WORK_LATER || work->due.v > now.v) return OK;
	if (work->rests.v > now.v) return OK; /* the step put it off */
	work->rests = now;
	return work_put_later(queue, work);
}

/* Leases -------------------------------------------------------------------------------------------------- */

/* What has become due goes to the lines, at most MADE_READY_MAX at once: without a bound, a million passes that were held would
 * stop the writer for a second. */
static enum err make_due_ready(struct work_queue *queue, unsigned lane, wall_us now, bool *more)
{
	unsigned count = 0;
	enum err err = OK;
	for (unsigned i = 0; i < LANE_KINDS && kinds_of_lanes[lane][i]; i++) {
		struct wallet_work *work;
		while (!err && count++ < MADE_READY_MAX &&
		       (work = take_due(queue, kinds_of_lanes[lane][i], now)))
			err = make_ready(queue, work);
	}
	*more |= count >= MADE_READY_MAX;
	return err;
}

enum err work_make_ready(struct work_queue *queue, wall_us now, bool *more)
{
	enum err err = OK;
	for (unsigned lane = 0; !err && lane < WORK_LANES; lane++)
		err = make_due_ready(queue, lane, now, more);
	return err;
}

enum err work_meet(struct work_queue *queue, unsigned lane, uint64_t instance, wall_us service_now,
                   mono_us now)
{
	struct wallet_work *work;
	bool                is_new = instance != queue->instances[lane], more = false;
	enum err            err = OK;
	queue->instances[lane] = instance;
	if (is_new) probe_take_back(&queue->probes[lane]);
	while (!err && (work = TAILQ_FIRST(&queue->leased[lane])) && (is_new || work->until.v <= now.v))
		err = work_put_later(queue, work);
	return err ? err : make_due_ready(queue, lane, service_now, &more);
}

bool work_is_ready(struct work_queue *queue, unsigned lane, wall_us service_now, mono_us now)
{
	const struct wallet_work *oldest = TAILQ_FIRST(&queue->leased[lane]);
	if (queue->probes[lane].state == PROBE_WAITS) return true;
	return work_next_due(queue, lane).v <= service_now.v || (oldest && oldest->until.v <= now.v);
}

wall_us work_next_due(const struct work_queue *queue, unsigned lane)
{
	wall_us due = {INT64_MAX};
	for (unsigned i = 0; i < WORK_LINES; i++)
		if (!TAILQ_EMPTY(&queue->rings[lane * WORK_LINES + i])) return (wall_us){0};
	for (unsigned i = 0; i < LANE_KINDS && kinds_of_lanes[lane][i]; i++) {
		const struct agenda_entry *first = agenda_first(&queue->agendas[kinds_of_lanes[lane][i]]);
		if (first && first->at < due.v) due.v = first->at;
	}
	return due;
}

struct wallet_work *work_turn(struct work_queue *queue, unsigned lane)
{
	for (unsigned line = lane * WORK_LINES; line < (lane + 1) * WORK_LINES; line++) {
		struct work_account *account = TAILQ_FIRST(&queue->rings[line]);
		if (!account) continue;
		TAILQ_REMOVE(&queue->rings[line], account, in_ring[line]);
		TAILQ_INSERT_TAIL(&queue->rings[line], account, in_ring[line]);
		struct wallet_work *next = TAILQ_FIRST(&account->lines[line]);
		take_out(queue, next);
		return next;
	}
	return NULL;
}

void work_lease(struct work_queue *queue, struct wallet_work *work, uint64_t token, wall_us service_now,
                mono_us now)
{
	work->token = token;
	work->until = mono_after(now, (dur_us){WORK_LEASE_S * US_PER_SEC});
	work->rests.v = service_now.v + WORK_REST_S * US_PER_SEC;
	work->is_changed = work->is_reported = false;
	work->state = WORK_LEASED;
	TAILQ_INSERT_TAIL(&queue->leased[lane_of(work)], work, in_line);
}

struct wallet_work *work_leased(struct work_queue *queue, unsigned lane, const struct push_lease *lease)
{
	for (unsigned i = 0; i < LANE_KINDS && kinds_of_lanes[lane][i]; i++) {
		struct wallet_work *work = work_find(queue, lease->account, kinds_of_lanes[lane][i],
		                                     lease->pass_number);
		if (work && work->state == WORK_LEASED && work->token == lease->token) return work;
	}
	return NULL;
}

bool work_is_leased(struct work_queue *queue, struct account_id account, enum wallet_due_kind kind,
                    uint32_t number)
{
	const struct wallet_work *work = work_find(queue, account, kind, number);
	return work && work->state == WORK_LEASED;
}

/* Figures ------------------------------------------------------------------------------------------------- */

size_t work_count(const struct work_queue *queue, enum wallet_due_kind kind)
{
	return queue->counts[kind];
}

wall_us work_oldest(const struct work_queue *queue, enum wallet_due_kind kind)
{
	const struct agenda_entry *oldest = agenda_first(&queue->ages[kind]);
	return (wall_us){oldest ? oldest->at : INT64_MAX};
}
