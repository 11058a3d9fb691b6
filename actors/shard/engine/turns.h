#pragma once
#include "actors/rt/channel.h"
#include "actors/shard/engine/saved_call.h"

/* Turns of accounts at the writer, so that what is heavy for it holds up its own account and no other. An account one of
 * whose commands was heavy owes time: while others ask too, its further calls are kept until that has passed, which leaves the
 * others two thirds of the time of writer and disk, however many accounts are heavy at once. With nobody else there, nobody
 * waits. What a reader answers costs what its bytes do. A call that is about no account is none of this.
 * Units: microseconds, of the turn's clock. The writer's. */
enum {
	TURN_HEAVY_US = 100,    /* of a command: some seven deltas; less is never owed */
	TURN_SHARE = 3,         /* times its cost, an account owes */
	TURN_OWED_US = 500000,  /* at most: a call waits no longer for its first turn */
	TURN_OTHERS_US = 50000, /* since another account was heard: it is still there */
	TURN_BYTE_NS = 8,       /* of a byte that is journalled, on its way to the disk */
	TURN_ANSWER_BYTE_NS =
	    4,            /* of a byte of an answer, on its way through the writer and the HTTP thread */
	DEBTORS_MAX = 64, /* accounts; those beyond are as light ones */
};

struct turn {
	struct peer       peer;
	struct saved_call kept;
	struct turn      *next;
};

struct debtor {
	struct account_id account;
	mono_us           free_at;
	struct turn      *first, **last; /* its calls, the oldest first */
};

struct turns {
	unsigned      count; /* calls kept */
	unsigned      debtor_count;
	unsigned      at; /* whose turn is next */
	struct debtor debtors[DEBTORS_MAX];
	struct heard {
		struct account_id account;
		mono_us           at;
	} heard[2];           /* the last account, and the last that was another */
	bool was_passed_over; /* one was free, and did not come in between what was open */
};

/* A call of the account has come. */
void turns_heard(struct turns *turns, struct account_id account, mono_us now);
/* Does a call of the account wait? Then turns_keep() takes a copy. Errors: ERR_NO_MEMORY. */
bool                turns_defer(struct turns *turns, struct account_id account, mono_us now);
must_check enum err turns_keep(struct turns *turns, const struct peer *peer, const struct call *call);
/* A command of the account has cost so much. */
void turns_charge(struct turns *turns, struct account_id account, dur_us cost, mono_us now);
/* The next call whose account is free, of accounts in turn; the caller frees it. NULL: none. */
struct turn *turns_take(struct turns *turns, mono_us now);
/* When turns_take() will find something, from now on; INT64_MAX: nothing is kept. */
dur_us turns_due(const struct turns *turns, mono_us now);
void   turn_free(struct turn **turn);
void   turns_close(struct turns *turns);
