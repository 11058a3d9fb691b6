#pragma once
#include "actors/rt/agenda.h"
#include "actors/shard/wallet/probe.h"
#include "store/wallet_due.h"

#include <sys/queue.h>

/* What is due on passes in wallets, in the writer's memory: the rows of WALLET_DUE, read at start and updated with every write.
 * Removals, touches and messages are taken one by one, the earliest first. Pushes and calls of Google (updates of objects, and of
 * classes) are leased to the timer, each in a lane of its own: accounts take turns, and changes of single passes go before those of
 * many. A pass that was leased is not leased again for WORK_REST_S, however often it
 * changes. Leases are in memory alone: after a restart all is due again, and at worst a phone is pushed twice. wall_us is service
 * time. The writer thread owns it. Errors: ERR_NO_MEMORY, and as view.h. */
enum { WORK_REST_S = 5, WORK_LEASE_S = 25, WORK_HELD_S = 3600 };

enum work_state {
	WORK_LATER,  /* in the agenda of its kind */
	WORK_READY,  /* in a line of its account */
	WORK_TAKEN,  /* in neither: a command works on it */
	WORK_LEASED, /* the timer has it */
};

struct wallet_work {
	LIST_ENTRY(wallet_work) in_bucket;
	TAILQ_ENTRY(wallet_work) in_line; /* of READY or LEASED */
	struct agenda_entry entry;        /* of LATER */
	struct agenda_entry age;          /* while it has a row */
	struct account_id   account;
	uint8_t             kind, state, flags; /* enum wallet_due_kind, enum work_state, of the row */
	bool                has_row;            /* false: it only rests */
	bool                waits_for_rest;     /* of the credential of some phones; others were pushed to */
	uint32_t            number;
	wall_us             due;   /* as the row says */
	wall_us             rests; /* not before, whatever the row says */
	uint64_t            token; /* of its lease */
	mono_us             until; /* likewise */
	/* Likewise: some phones are left out, since their credential rests until then. 0: none. */
	wall_us  left_until;
	uint64_t left_credential;  /* the one whose rest ends first; 0: not known */
	bool     is_changed;       /* likewise, of Google: the row was put again since */
	bool     is_reported;      /* likewise: what the row's next write says is the end of the lease */
	uint64_t issuer;           /* likewise, of a pass at Google: of its row then */
	bool     was_wanted;       /* likewise: was its object to be made then? */
	struct work_account *line; /* of READY */
};
TAILQ_HEAD(work_line, wallet_work);
LIST_HEAD(work_bucket, wallet_work);

/* An account with something ready: single changes, and those of many passes. */
enum { WORK_SINGLE, WORK_BULK, WORK_LINES };
/* What is leased to the timer, apart from each other: pushes to Apple, and calls of Google. */
enum { WORK_APPLE, WORK_GOOGLE, WORK_LANES };
enum { WORK_ALL_LINES = WORK_LINES * WORK_LANES };
struct work_account {
	LIST_ENTRY(work_account) in_bucket;
	TAILQ_ENTRY(work_account) in_ring[WORK_ALL_LINES];
	struct account_id id;
	struct work_line  lines[WORK_ALL_LINES];
};
TAILQ_HEAD(work_ring, work_account);
LIST_HEAD(work_accounts, work_account);

/* What a write of settings or of a credential means for what is held (held.c). */
struct work_news {
	enum {
		NEWS_SETTING, /* of the account */
		NEWS_SERVES,  /* a credential serves, as far as is known: it rests no more */
		NEWS_PUT      /* one was put; or removed, so that perhaps the operator's serves */
	} what;
	bool              is_of_all; /* accounts: it is the operator's credential */
	struct account_id account;
	enum wallet_kind  kind;        /* of a credential */
	uint64_t          credential;  /* likewise; 0: any */
	uint32_t bucket, buckets_left; /* where the next step begins; how many it has yet to search */
};
enum { WORK_NEWS_MAX = 8 };

enum { WORK_BUCKETS = 1 << 16, WORK_ACCOUNT_BUCKETS = 1 << 10 };
struct work_queue {
	struct work_bucket   buckets[WORK_BUCKETS];
	struct work_accounts accounts[WORK_ACCOUNT_BUCKETS];
	struct agenda        agendas[WALLET_DUE_KINDS_END];
	struct agenda        ages[WALLET_DUE_KINDS_END]; /* rows by the time since when they are due */
	struct work_ring     rings[WORK_ALL_LINES];
	struct wallet_probe  probes[WORK_LANES];
	bool                 has_google_keys;              /* the tables have root keys of Google */
	struct work_line     leased[WORK_LANES];           /* oldest first */
	uint64_t             instances[WORK_LANES];        /* of the timers that lease; 0: none yet */
	size_t               counts[WALLET_DUE_KINDS_END]; /* rows */
	struct work_news     news[WORK_NEWS_MAX];          /* whose steps are not done, oldest first */
	unsigned             news_count;
};

must_check enum err work_load(struct work_queue **queue, struct view *view);
void                work_free(struct work_queue **queue); /* NULL is fine */
/* Call after a command's writes have been applied. A put of a row ends the lease of its work. Of the puts of a row at
 * Google only that of the lease's report does. A deletion always does. */
must_check enum err work_on_writes(struct work_queue *queue, const struct writes *writes, wall_us now);

/* Takes the next of that kind that is due; NULL: none. Its row's next write settles it, or work_again(). Borrowed until then. */
const struct wallet_work *work_take(struct work_queue *queue, enum wallet_due_kind kind, wall_us now);
/* What was taken and not done is due again at that time. Nothing if it is not there, or not taken. */
must_check enum err work_again(struct work_queue *queue, struct account_id account, enum wallet_due_kind kind,
                               uint32_t number, wall_us at);

/* What a step has done a part of lets others of its kind go first. */
must_check enum err work_rotate(struct work_queue *queue, struct account_id account,
                                enum wallet_due_kind kind, uint32_t number, wall_us now);

/* What has become due gets ready, at most a thousand passes of each lane. *more: perhaps there are others. */
must_check enum err work_make_ready(struct work_queue *queue, wall_us service_now, bool *more);
/* A timer polls: leases of an earlier one, and those that were not reported in time, end. What has become due gets ready, likewise. */
must_check enum err work_meet(struct work_queue *queue, unsigned lane, uint64_t instance, wall_us service_now,
                              mono_us now);
/* Is a push ready, or a lease to be ended? When the next one is; INT64_MAX: none. */
bool    work_is_ready(struct work_queue *queue, unsigned lane, wall_us service_now, mono_us now);
wall_us work_next_due(const struct work_queue *queue, unsigned lane);
/* Takes the next push in turn; NULL: none is ready. Then work_lease() or work_again() or a write to its row. */
struct wallet_work *work_turn(struct work_queue *queue, unsigned lane);
void work_lease(struct work_queue *queue, struct wallet_work *work, uint64_t token, wall_us service_now,
                mono_us now);
bool work_is_leased(struct work_queue *queue, struct account_id account, enum wallet_due_kind kind,
                    uint32_t number);
/* The work that this lease is of; NULL: the lease has ended. */
struct wallet_work *work_leased(struct work_queue *queue, unsigned lane, const struct push_lease *lease);

/* Rows of a kind; since when the oldest of them is due, whatever it waits for (INT64_MAX: none is). */
size_t  work_count(const struct work_queue *queue, enum wallet_due_kind kind);
wall_us work_oldest(const struct work_queue *queue, enum wallet_due_kind kind);
