#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/messages.h"

#include <stddef.h>

/* The open calls of one session, in a table of fixed size, so that a call allocates nothing. An id is the place in the table
 * and, above it, how often the place was taken. So a late answer to an ended call matches no call. No id is 0. */
struct pending_call {
	uint32_t    turn;      /* how often this place was taken */
	uint32_t    next_free; /* while free */
	bool        taken;
	bool        forgotten;
	enum effect effect;
	enum err    refusal;    /* not OK: the call never leaves; the next pump ends it */
	uint32_t    size_bytes; /* in its frame */
	uint64_t    frame;      /* number of its frame */
	mono_us     deadline;
	void       *user;
};

struct calls {
	struct pending_call *places;
	uint32_t             place_count;
	uint32_t             first_free;
	uint32_t             outstanding; /* taken places */
	size_t               outstanding_bytes;
};

/* Allocates `place_count` places. False: no memory. */
bool calls_open(struct calls *calls, uint32_t place_count);
void calls_close(struct calls *calls);

/* Takes a place, zeroed; one must be free. */
struct pending_call *calls_take(struct calls *calls);
void                 calls_give_back(struct calls *calls, struct pending_call *call);

/* Counts the bytes of `call` until its place is given back. */
void calls_count_bytes(struct calls *calls, struct pending_call *call, size_t size);

uint64_t             calls_id(const struct calls *calls, const struct pending_call *call);
struct pending_call *calls_find(struct calls *calls, uint64_t id); /* NULL: it has ended, or never existed */

/* Which calls are over: all, when the session ends; those that never leave; those past their deadline. A call that was not
 * sent in time may stay in its frame: the callee drops late calls. */
bool call_is_any(const struct pending_call *call, mono_us now);
bool call_is_refused(const struct pending_call *call, mono_us now);
bool call_is_overdue(const struct pending_call *call, mono_us now);
