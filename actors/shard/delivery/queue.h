#pragma once
#include "actors/rt/agenda.h"
#include "store/delivery.h"

#include <sys/queue.h>

/* Which deliveries are due. The writer keeps this in memory: built from the table DELIVERY at start, updated with every write
 * to it. A lane is a subscription with waiting or leased deliveries. Lanes with something due take turns, so that none waits
 * for another's queue. Lanes whose endpoints do not respond in time share a limited part of the leases. Of the rest, no
 * account has more than it leaves free. wall_us is service time. The writer thread owns it. Errors: ERR_NO_MEMORY, and as
 * view.h. */

/* The state of a lane's endpoint after its last attempt. */
enum lane_health { LANE_SOUND, LANE_NEW, LANE_DOUBTFUL, LANE_HEALTHS };

/* Where a lane is. */
enum lane_state {
	LANE_READY,   /* in a ring: something is due, and it may get a lease */
	LANE_LATER,   /* in the agenda: something will be due */
	LANE_RESTING, /* nothing waits, or it has all the leases it may have */
};

/* An account with lanes. */
struct lane_owner {
	LIST_ENTRY(lane_owner) in_bucket;
	struct account_id account;
	uint32_t          lanes, leased;
};

struct lane {
	LIST_ENTRY(lane) in_bucket;
	TAILQ_ENTRY(lane) in_ring, in_stale;
	struct agenda_entry later;
	struct lane_owner  *owner;
	struct account_id   account;
	struct uuid         subscription;
	enum lane_health    health;
	enum lane_state     state;
	uint32_t            leased;
	bool                does_answer; /* the last attempt got a response, if late or not a success */
	bool                is_stale;    /* `due` must be looked up */
	uint64_t            turn;        /* the last command that gave it leases */
	wall_us             due;         /* of its first waiting delivery; NO_DUE: none */
	wall_us             hold;        /* no lease before this time, even if due */
};
#define NO_DUE INT64_MAX

/* A lease in memory, found by its delivery. */
struct held_lease {
	TAILQ_ENTRY(held_lease) by_age;
	LIST_ENTRY(held_lease) in_bucket;
	struct lane *lane;
	wall_us      due;
	struct uuid  event;
	uint64_t     instance;
	mono_us      until;
	bool         is_recent; /* given in the last second to an unknown endpoint */
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
	struct agenda       later; /* lanes in state LATER; it has room for every lane */
	size_t              lane_count;
	struct lane_ring    stale; /* lanes whose `due` must be looked up */
	struct owner_bucket owners[LEASE_BUCKETS];
	struct lease_bucket lease[LEASE_BUCKETS];
	struct lease_list   leases_by_age;
	struct held_lease  *first_recent; /* all before it are older than a second */
	uint32_t            recent;
	uint32_t            leased[LANE_HEALTHS]; /* by the current health of their lane */
	uint32_t reserved[LANE_HEALTHS]; /* likewise, by the current command; not in the tables yet */
	uint32_t leases_max;             /* of this shard */
	uint64_t instance;               /* of the timer that polls; 0: none yet */
	uint64_t turn;                   /* counts lease commands */
};

/* Reads the table. A lease found there counts as given now. `leases_max`: of this shard. */
must_check enum err queue_load(struct delivery_queue *queue, struct view *view, uint32_t leases_max,
                               mono_us now);
void                queue_free(struct delivery_queue *queue);

/* Call after a command's writes have been applied to `view`. */
must_check enum err queue_on_writes(struct delivery_queue *queue, const struct writes *writes,
                                    struct view *view, mono_us now);

/* Is there something to lease, or an expired lease? */
bool queue_is_ready(struct delivery_queue *queue, wall_us service_now, mono_us now);
/* When the earliest waiting delivery is due; NO_DUE: nothing waits. */
wall_us queue_next_due(const struct delivery_queue *queue);

/* queue_turn_begin() starts a lease command. queue_turn() returns the next lane with something due that may get leases and was
 * not served by this command; NULL: none. *room: how many leases it may get. */
void         queue_turn_begin(struct delivery_queue *queue, mono_us now);
struct lane *queue_turn(struct delivery_queue *queue, wall_us service_now, uint32_t *room);
/* Announces that the command gives the lane `count` leases, which reduces what later lanes may get. */
void queue_reserve(struct delivery_queue *queue, const struct lane *lane, uint32_t count);

/* The oldest lease that is expired or belongs to an earlier timer; then the next after `previous`. NULL: none. A lease stays
 * until its row goes. */
const struct held_lease *queue_expired(const struct delivery_queue *queue, mono_us now,
                                       const struct held_lease *previous);

/* A timer polls. If it is a new one, the leases of the earlier timer will not be reported. */
void queue_meet(struct delivery_queue *queue, uint64_t instance);

uint32_t queue_leases(const struct delivery_queue *queue); /* current leases */

/* The lane of a subscription, or NULL; what an attempt showed about its endpoint; a pause before its next lease. */
struct lane *queue_lane(struct delivery_queue *queue, struct account_id account, struct uuid subscription);
void queue_note(struct delivery_queue *queue, struct lane *lane, enum lane_health health, bool does_answer);
void queue_hold(struct delivery_queue *queue, struct lane *lane, wall_us until);
