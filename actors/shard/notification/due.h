#pragma once
#include "actors/rt/agenda.h"
#include "store/notification.h"

#include <sys/queue.h>

/* Which accounts have a notification that is due. The writer keeps this in memory: built from the table NOTIFICATION_DUE at
 * start, updated with every write. Accounts with something due take turns, so that a million due in one do not delay another.
 * Times are service time. The writer thread owns it. Errors: ERR_NO_MEMORY, and as view.h. */
struct due_account {
	LIST_ENTRY(due_account) in_bucket;
	struct agenda_entry turn; /* .then: the command of its last turn */
	struct account_id   id;
	wall_us             due;      /* of its first notification */
	wall_us             served;   /* time of its last turn */
	bool                is_stale; /* `due` must be looked up */
};

enum { DUE_BUCKETS = 1 << 12 };
LIST_HEAD(due_bucket, due_account);

struct due_queue {
	struct due_bucket buckets[DUE_BUCKETS];
	struct agenda     turns; /* next in turn first */
	uint64_t          turn;
};

must_check enum err due_load(struct due_queue *queue, struct view *view);
void                due_free(struct due_queue *queue);

/* Call after a command's writes have been applied to `view`. */
must_check enum err due_on_writes(struct due_queue *queue, const struct writes *writes, struct view *view);

/* due_turn_begin() starts a command that sends. due_turn() returns the next account with something due that this command has
 * not served, else NULL; borrowed until due_on_writes(). *alone: no other account waits. */
void                      due_turn_begin(struct due_queue *queue);
const struct due_account *due_turn(struct due_queue *queue, wall_us now, bool *alone);
