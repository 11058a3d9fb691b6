#pragma once
#include "store/notification.h"

#include <sys/queue.h>

/* Which accounts have a notification that is due: what the writer keeps in memory of the table NOTIFICATION_DUE, made of it
 * at the start and from then on of every write to it. Accounts with something due take turns, so that a million due in one
 * hold up no other. Times are service time. The writer thread owns it. Errors: ERR_NO_MEMORY, and as view.h. */
struct due_account {
	LIST_ENTRY(due_account) in_bucket;
	struct account_id id;
	wall_us           due;    /* of its first */
	wall_us           served; /* when it last had its turn */
	uint64_t          turn;   /* the command in which that was */
	size_t            heap_at;
	bool              is_stale; /* `due` is to be looked up */
};

enum { DUE_BUCKETS = 1 << 12 };
LIST_HEAD(due_bucket, due_account);

struct due_queue {
	struct due_bucket    buckets[DUE_BUCKETS];
	struct due_account **heap; /* whose turn is next comes first */
	size_t               count, room;
	uint64_t             turn;
};

must_check enum err due_load(struct due_queue *queue, struct view *view);
void                due_free(struct due_queue *queue);

/* After a command's writes have been applied: notes them. `view` is the one they were applied to. */
must_check enum err due_on_writes(struct due_queue *queue, const struct writes *writes, struct view *view);

/* A command that sends begins; then the account whose turn it is, if something of it is due and this command has not had it
 * yet, else NULL. *alone: nobody else waits. It is borrowed until due_on_writes(). */
void                      due_turn_begin(struct due_queue *queue);
const struct due_account *due_turn(struct due_queue *queue, wall_us now, bool *alone);
