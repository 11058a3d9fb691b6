/* Accounts in an agenda. An account comes up when its first notification is due, and again after all accounts that came up before
 * its last turn have been served. So the agenda is ordered by the later of the two times, and among equal ones by turns. */
#include "actors/shard/notification/due.h"

#include "schemas/crc32c.h"

#include <stddef.h>
#include <stdlib.h>

static struct due_bucket *bucket_of(struct due_queue *queue, struct account_id id)
{
	return &queue->buckets[crc32c(0, id.b, sizeof id.b) % DUE_BUCKETS];
}

static struct due_account *find(struct due_queue *queue, struct account_id id)
{
	struct due_account *account;
	LIST_FOREACH(account, bucket_of(queue, id), in_bucket)
	if (account_same(account->id, id)) return account;
	return NULL;
}

/* Puts it into its place in the agenda. Errors: ERR_NO_MEMORY, only for one that is not in it yet. */
static enum err place(struct due_queue *queue, struct due_account *account)
{
	return agenda_put(&queue->turns, &account->turn,
	                  account->served.v > account->due.v ? account->served.v : account->due.v);
}

static struct due_account *first(const struct due_queue *queue)
{
	return agenda_owner(agenda_first(&queue->turns), offsetof(struct due_account, turn));
}

static enum err add(struct due_queue *queue, const struct notification_due *due)
{
	struct due_account *account = calloc(1, sizeof *account);
	if (!account) return ERR_NO_MEMORY;
	account->id = due->account;
	account->due = due->at;
	if (place(queue, account)) {
		free(account);
		return ERR_NO_MEMORY;
	}
	LIST_INSERT_HEAD(bucket_of(queue, account->id), account, in_bucket);
	return OK;
}

static void drop(struct due_queue *queue, struct due_account *account)
{
	agenda_drop(&queue->turns, &account->turn);
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
	while (first(queue))
		drop(queue, first(queue));
	agenda_free(&queue->turns);
	*queue = (struct due_queue){.turn = 0};
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
	return place(queue, account);
}

/* Looks up the account's first notification. */
static enum err look_up(struct due_queue *queue, struct due_account *account, struct view *view)
{
	struct notification_due due = {.account = account->id, .at = {INT64_MIN}};
	enum err                err = notification_due_from(view, &due);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err || !account_same(due.account, account->id)) {
		drop(queue, account);
		return OK;
	}
	account->is_stale = false;
	account->due = due.at;
	return place(queue, account);
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

/* The first one, if it waits for a turn. Accounts that this command has served stand behind all others that are due. */
static struct due_account *first_waiting(const struct due_queue *queue, wall_us now)
{
	struct due_account *account = first(queue);
	return account && account->turn.at <= now.v && account->turn.then != queue->turn ? account : NULL;
}

const struct due_account *due_turn(struct due_queue *queue, wall_us now, bool *alone)
{
	struct due_account *account = first_waiting(queue, now);
	if (!account) return NULL;
	account->served = now;
	account->turn.then = queue->turn;
	must(!place(queue, account)); /* it has a place */
	*alone = !first_waiting(queue, now);
	return account;
}
