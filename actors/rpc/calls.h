#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/messages.h"

#include <stddef.h>

/* The calls of one session that have not ended: a table of fixed size, so that a call costs no allocation.
 * An id is the place in the table and, above it, how often that place was taken: a late answer to a call that
 * has ended finds nobody. No id is 0. */
struct pending_call {
	uint32_t    turn;      /* how often this place was taken */
	uint32_t    next_free; /* while free */
	bool        taken;
	bool        forgotten;
	enum effect effect;
	enum err    refusal;    /* not OK: it never leaves; the next pump says so */
	uint32_t    size_bytes; /* in its frame */
	uint64_t    frame;      /* the number of the frame it is in */
	mono_us     deadline;
	void       *user;
};

struct calls {
	struct pending_call *places;
	uint32_t             place_count;
	uint32_t             first_free;
	uint32_t             outstanding; /* places that are not free */
	size_t               outstanding_bytes;
};

/* Makes room for `place_count` calls. false when memory is out. */
bool calls_open(struct calls *calls, uint32_t place_count);
void calls_close(struct calls *calls);

/* Takes a place, with nothing set; there must be a free one. */
struct pending_call *calls_take(struct calls *calls);
void                 calls_give_back(struct calls *calls, struct pending_call *call);

/* Counts the bytes that `call` occupies, until it is given back. */
void calls_count_bytes(struct calls *calls, struct pending_call *call, size_t size);

uint64_t             calls_id(const struct calls *calls, const struct pending_call *call);
struct pending_call *calls_find(struct calls *calls, uint64_t id); /* NULL when it has ended, or never was */

/* Which calls are over: all when their session is; those that never leave; those whose time is up. (A call that could not
 * even be sent by then may stay in its frame: the callee drops what is past its time.) */
bool call_is_any(const struct pending_call *call, mono_us now);
bool call_is_refused(const struct pending_call *call, mono_us now);
bool call_is_overdue(const struct pending_call *call, mono_us now);
