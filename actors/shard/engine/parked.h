#pragma once
#include "actors/rt/mailbox.h"
#include "actors/shard/engine/kept_call.h"

/* Creations that wait for the issuer's word. The first for an id of an account asks and holds the id; further
 * ones of the same id wait behind it and share a refusal. Nothing here is stored: if the process dies, none of
 * them happened. The writer thread owns it. */
struct parked {
	struct peer      peer; /* whom to answer */
	struct kept_call kept;
	uint64_t         ask_id; /* of the PREPARE; 0: waits behind another */
	mono_us          due;    /* when the issuer's time is up */
	struct parked   *next;   /* in order of arrival; those that ask have rising `due` */
};

struct parking {
	struct parked *first, **last;
	uint64_t       next_ask_id;
	unsigned       count;
};

enum { PARKED_MAX = 4096 }; /* creations in all; OVERLOADED */

void parking_open(struct parking *parking);
void parking_close(struct parking *parking);

/* Parks a copy of `call`, a PASS_CREATE. The issuer has to be asked with (*parked)->ask_id, unless that is 0.
 * Errors: ERR_OVERLOADED, ERR_NO_MEMORY. */
must_check enum err parking_add(struct parking *parking, const struct peer *peer, const struct call *call,
                                mono_us due, struct parked **parked);

/* Takes out the one that asked `ask_id`, or whose time is up; NULL when there is none. The caller then frees it. */
struct parked *parking_take(struct parking *parking, uint64_t ask_id);
struct parked *parking_take_due(struct parking *parking, mono_us now);
/* Gives the issuer so much more time, for all that wait. */
void parking_delay(struct parking *parking, dur_us by);
/* Takes out the next that waits behind the id of `done`. */
struct parked *parking_take_behind(struct parking *parking, const struct parked *done);
void           parked_free(struct parked **parked);
