/* Accounts in a heap. An account comes up when its first notification is due, and again after all accounts that came up before
 * its last turn have been served. So the heap is ordered by the later of the two times, and among equal ones by turns. */
#include "actors/shard/notification/due.h"

#include "schemas/crc32c.h"

#include <stdlib.h>

static struct due_bucket *bucket_of(struct due_queue *queue, struct account_id id)
{
	return &queue->buckets[crc32c(0, id.b, sizeof id.b) % DUE_BUCKETS];
}

static struct due_account *find(struct due_queue *queue, struct account_id id)
{
	struct due_account *account;
	LIST_FOREACH(account, bucket_of(queue, id), in_bucket)
	if (!memcmp(account->id.b, id.b, sizeof id.b)) return account;
	return NULL;
}

/* The heap --------------------------------------------------------------------------------------------------- */

static int64_t comes_at(const struct due_account *account)
{
	return account->served.v > account->due.v ? account->served.v : account->due.v;
}

static bool is_before(const struct due_account *a, const struct due_account *b)
{
	return comes_at(a) != comes_at(b) ? comes_at(a) < comes_at(b) : a->turn < b->turn;
}

static void heap_set(struct due_queue *queue, size_t at, struct due_account *account)
{
	queue->heap[at] = account;
	account->heap_at = at;
}

/* Moves the account at `at` to its position. */
static void heap_settle(struct due_queue *queue, size_t at)
{
	struct due_account *account = queue->heap[at];
	for (; at && is_before(account, queue->heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap_set(queue, at, queue->heap[(at - 1) / 2]);
	for (size_t child; (child = 2 * at + 1) < queue->count; at = child) {
		if (child + 1 < queue->count && is_before(queue->heap[child + 1], queue->heap[child]))
			child++;
		if (!is_before(queue->heap[child], account)) break;
		heap_set(queue, at, queue->heap[child]);
	}
	heap_set(queue, at, account);
}

static enum err heap_grow(struct due_queue *queue)
{
	size_t               room = queue->room ? 2 * queue->room : 64;
	struct due_account **heap = queue->count < queue->room
	                                ? queue->heap
	                                : realloc(queue->heap, room * sizeof(struct due_account *));
	if (!heap) return ERR_NO_MEMORY;
	if (queue->count == queue->room) queue->room = room;
	queue->heap = heap;
	return OK;
}

static enum err add(struct due_queue *queue, const struct notification_due *due)
{
	struct due_account *account;
	enum err            err = heap_grow(queue);
	if (err || !(account = calloc(1, sizeof *account))) return ERR_NO_MEMORY;
	account->id = due->account;
	account->due = due->at;
	LIST_INSERT_HEAD(bucket_of(queue, account->id), account, in_bucket);
	heap_set(queue, queue->count++, account);
	heap_settle(queue, account->heap_at);
	return OK;
}

static void drop(struct due_queue *queue, struct due_account *account)
{
	size_t              at = account->heap_at;
	struct due_account *last = queue->heap[--queue->count];
	if (last != account) {
		heap_set(queue, at, last);
		heap_settle(queue, at);
	}
	LIST_REMOVE(account, in_bucket);
	free(account);
}

/* Load and free ---------------------------------------------------------------------------------------------- */

enum err due_load(struct due_queue *queue, struct view *view)
{
	struct notification_due due = {.at = {INT64_MIN}};
	enum err                err;
	while (!(err = notification_due_from(view, &due))) {
		if ((err = add(queue, &due))) return err;
		due.at.v = INT64_MAX; /* skips to the next account */
		due.number = UINT32_MAX;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

void due_free(struct due_queue *queue)
{
	for (size_t i = 0; i < queue->count; i++)
		free(queue->heap[i]);
	free(queue->heap);
	*queue = (struct due_queue){.heap = NULL};
}

/* Writes ------------------------------------------------------------------------------------------------------- */

static enum err on_row(struct due_queue *queue, const struct write *write)
{
	struct notification_due due;
	enum err                err = notification_due_read(write->key, &due);
	if (err) return err;
	struct due_account *account = find(queue, due.account);
	if (write->kind == WRITE_DEL) {
		if (account) account->is_stale = true;
		return OK;
	}
	if (!account) return add(queue, &due);
	if (due.at.v >= account->due.v) return OK;
	account->due = due.at;
	heap_settle(queue, account->heap_at);
	return OK;
}

/* Looks up the account's first notification. */
static enum err look_up(struct due_queue *queue, struct due_account *account, struct view *view)
{
	struct notification_due due = {.account = account->id, .at = {INT64_MIN}};
	enum err                err = notification_due_from(view, &due);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err || memcmp(due.account.b, account->id.b, sizeof due.account.b)) {
		drop(queue, account);
		return OK;
	}
	account->is_stale = false;
	account->due = due.at;
	heap_settle(queue, account->heap_at);
	return OK;
}

enum err due_on_writes(struct due_queue *queue, const struct writes *writes, struct view *view)
{
	enum err err = OK;
	unsigned deleted = 0;
	for (unsigned i = 0; i < writes->count && !err; i++) {
		if (writes->rows[i].table != TABLE_NOTIFICATION_DUE) continue;
		err = on_row(queue, &writes->rows[i]);
		deleted += writes->rows[i].kind == WRITE_DEL;
	}
	for (unsigned i = 0; deleted && i < writes->count && !err; i++) {
		struct notification_due due;
		if (writes->rows[i].table != TABLE_NOTIFICATION_DUE) continue;
		if ((err = notification_due_read(writes->rows[i].key, &due))) return err;
		struct due_account *account = find(queue, due.account);
		if (account && account->is_stale) err = look_up(queue, account, view);
	}
	return err;
}

/* Turns -------------------------------------------------------------------------------------------------------- */

void due_turn_begin(struct due_queue *queue)
{
	queue->turn++;
}

static bool waits(const struct due_queue *queue, size_t at, wall_us now)
{
	return at < queue->count && comes_at(queue->heap[at]) <= now.v &&
	       queue->heap[at]->turn != queue->turn;
}

const struct due_account *due_turn(struct due_queue *queue, wall_us now, bool *alone)
{
	if (!waits(queue, 0, now)) return NULL;
	struct due_account *account = queue->heap[0];
	*alone = !waits(queue, 1, now) && !waits(queue, 2, now);
	account->served = now;
	account->turn = queue->turn;
	heap_settle(queue, 0);
	return account;
}
