#pragma once
#include "actors/rt/channel.h"
#include "actors/shard/engine/saved_call.h"

/* Turns of accounts at the writer, so that a heavy command delays its own account and no other. An account with a heavy
 * command owes time. While other accounts call too, its further calls are kept until that time has passed. This leaves the
 * others two thirds of writer and disk time, however many accounts are heavy at once. Without other calls there is no wait. An
 * answer of a reader costs by its bytes. Calls without an account are exempt. Units: microseconds of the turn's clock. The
 * writer thread owns it. */
enum {
	TURN_HEAVY_US = 100,      /* a command above this is heavy (about 7 balance updates) */
	TURN_SHARE = 3,           /* an account owes this multiple of the cost, times the number of debtors */
	TURN_OWED_US = 500000,    /* the longest debt, and so the longest wait for the first turn */
	TURN_OTHERS_US = 50000,   /* an account that called within this time still counts as present */
	TURN_BYTE_NS = 8,         /* for each journalled byte, for its writes to journal and tables */
	TURN_SMALL_BYTES = 65536, /* further bytes of a command cost more on a disk that is slower */
	TURN_BYTE_NS_MAX = 1000,  /* so much at most */
	TURN_ANSWER_BYTE_NS = 4,  /* for each byte of an answer, for writer and HTTP thread */
	DEBTORS_MAX = 64,         /* accounts; further ones are treated as light */
};

struct turn {
	struct peer       peer;
	struct saved_call kept;
	struct turn      *next;
};

struct debtor {
	struct account_id account;
	mono_us           free_at;
	struct turn      *first, **last; /* waiting calls, oldest first */
};

struct turns {
	unsigned      count; /* kept calls */
	unsigned      debtor_count;
	unsigned      at; /* round-robin position */
	struct debtor debtors[DEBTORS_MAX];
	struct heard {
		struct account_id account;
		mono_us           at;
	} heard[2];           /* the last account, and the last different one */
	bool was_passed_over; /* a ready call was left: the open record was not empty */
};

/* Notes that a call of the account has arrived. */
void turns_heard(struct turns *turns, struct account_id account, mono_us now);
/* turns_defer(): must a call of the account wait? If so, turns_keep() copies it. Errors: ERR_NO_MEMORY. */
bool                turns_defer(struct turns *turns, struct account_id account, mono_us now);
must_check enum err turns_keep(struct turns *turns, const struct peer *peer, const struct call *call);
/* What the disk costs for so many journalled bytes, if it took `byte_ns` for a byte of recent large records. */
dur_us turns_cost_of_bytes(size_t bytes, int64_t byte_ns);
/* Charges the account for a command. */
void turns_charge(struct turns *turns, struct account_id account, dur_us cost, mono_us now);
/* The next call whose account is free, round robin; the caller frees it. NULL: none. */
struct turn *turns_take(struct turns *turns, mono_us now);
/* Time from now until turns_take() finds a call; INT64_MAX: nothing is kept. */
dur_us turns_due(const struct turns *turns, mono_us now);
void   turn_free(struct turn **turn);
void   turns_close(struct turns *turns);
