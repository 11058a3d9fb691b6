#pragma once
#include "store/delivery.h"

#include <sys/queue.h>

/* Which deliveries are due: what the writer keeps in memory of the table DELIVERY, made of it at the start and from then
 * on of every write to it. A lane is one subscription that has something waiting or leased. Lines with something due
 * take turns, so that none waits for another's queue; lanes whose endpoints do not answer in time have a share of the
 * leases that leaves the rest to the others, and of the rest no account has more than it leaves. Times are service time
 * where they are wall_us. The writer thread owns it. Errors: ERR_NO_MEMORY, and as view.h. */

/* What is known of a lane's endpoint, by the last attempt. */
enum lane_health { LANE_SOUND, LANE_NEW, LANE_DOUBTFUL, LANE_HEALTHS };

/* Where a lane stands. */
enum lane_state {
	LANE_READY,   /* something is due, and there is room for it: in a ring */
	LANE_LATER,   /* something will be due: in the heap */
	LANE_RESTING, /* nothing waits, or it has as many leases as it may */
};

/* An account that has lanes. */
struct lane_owner {
	LIST_ENTRY(lane_owner) in_bucket;
	struct account_id account;
	uint32_t          lanes, leased;
};

struct lane {
	LIST_ENTRY(lane) in_bucket;
	TAILQ_ENTRY(lane) in_ring;
	struct lane_owner *owner;
	struct account_id  account;
	struct uuid        subscription;
	enum lane_health   health;
	enum lane_state    state;
	size_t             heap_at;
	uint32_t           leased;
	bool               does_answer; /* the last attempt had an answer, though it was late or no success */
	bool               is_stale;    /* `due` is to be looked up */
	uint64_t           turn;        /* the command that it last was given leases by */
	wall_us            due;         /* of the first that waits; NO_DUE: none does */
	wall_us            hold;        /* not before this, though it be due */
};
#define NO_DUE INT64_MAX

/* A lease in memory, to be found by what it is for. */
struct held_lease {
	TAILQ_ENTRY(held_lease) by_age;
	LIST_ENTRY(held_lease) in_bucket;
	struct lane *lane;
	wall_us      due;
	struct uuid  event;
	uint64_t     instance;
	mono_us      until;
	bool         is_recent; /* given in the last second, to an endpoint that nothing was known of */
};

enum { LANE_BUCKETS = 1 << 14, LEASE_BUCKETS = 1 << 12 };
TAILQ_HEAD(lane_ring, lane);
TAILQ_HEAD(lease_list, held_lease);
LIST_HEAD(lane_bucket, lane);
LIST_HEAD(owner_bucket, lane_owner);
LIST_HEAD(lease_bucket, held_lease);

struct delivery_queue {
	struct lane_bucket  lanes[LANE_BUCKETS];
	struct lane_ring    ready[LANE_HEALTHS];
	struct lane       **heap; /* those that are LATER, the earliest first */
	size_t              heap_count, heap_room, lane_count;
	struct lane       **stale;
	size_t              stale_count, stale_room;
	struct owner_bucket owners[LEASE_BUCKETS];
	struct lease_bucket lease[LEASE_BUCKETS];
	struct lease_list   leases_by_age;
	struct held_lease  *first_recent; /* all before it are older than a second */
	uint32_t            recent;
	uint32_t            leased[LANE_HEALTHS]; /* by the health that their lane now has */
	uint32_t reserved[LANE_HEALTHS]; /* likewise, by the command at hand; not in the tables yet */
	uint32_t leases_max;             /* in all */
	uint64_t instance;               /* of the timer that asks; 0: none has yet */
	uint64_t turn;                   /* counts commands that hand out */
};

/* Reads the table; a lease found in it is as good as one just given. `leases_max`: of this shard. */
must_check enum err queue_load(struct delivery_queue *queue, struct view *view, uint32_t leases_max,
                               mono_us now);
void                queue_free(struct delivery_queue *queue);

/* After a command's writes have been applied: notes them. `view` is the one they were applied to. */
must_check enum err queue_on_writes(struct delivery_queue *queue, const struct writes *writes,
                                    struct view *view, mono_us now);

/* Is there something to hand out, or a lease to take back? */
bool queue_is_ready(struct delivery_queue *queue, wall_us service_now, mono_us now);
/* When the earliest of what waits comes due; NO_DUE: nothing waits. */
wall_us queue_next_due(const struct delivery_queue *queue);

/* A command that hands out begins; then the lane whose turn it is, if it has something due, a lease may be given to it and
 * this command has not had it yet. *room: how many leases it may have. NULL: none. */
void         queue_turn_begin(struct delivery_queue *queue, mono_us now);
struct lane *queue_turn(struct delivery_queue *queue, wall_us service_now, uint32_t *room);
/* So many of them the command is going to give to it: what the next may have is less by that. */
void queue_reserve(struct delivery_queue *queue, const struct lane *lane, uint32_t count);

/* The oldest lease whose time is up, or that a timer of before has, and the next after `previous`; NULL: none. They stay
 * until their rows go. */
const struct held_lease *queue_expired(const struct delivery_queue *queue, mono_us now,
                                       const struct held_lease *previous);

/* A timer asks. Another than before: what the one before had will not be reported. */
void queue_meet(struct delivery_queue *queue, uint64_t instance);

uint32_t queue_leases(const struct delivery_queue *queue); /* how many there are */

/* The lane of a subscription, or NULL; what an attempt has shown of its endpoint; and that it should wait a while. */
struct lane *queue_lane(struct delivery_queue *queue, struct account_id account, struct uuid subscription);
void queue_note(struct delivery_queue *queue, struct lane *lane, enum lane_health health, bool does_answer);
void queue_hold(struct delivery_queue *queue, struct lane *lane, wall_us until);
