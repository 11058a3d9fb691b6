#pragma once
#include "schemas/clock.h"

#include <h2o.h>
#include <stdbool.h>

/* The places that connections of one listener take, and who gives way when they run out. Each connection is of one kind;
 * those of a kind stand in line by how long they have been of it. Nothing here knows of sockets. Errors: none. */
enum place_kind {
	PLACE_UNFINISHED, /* handshakes, heads, silent newcomers; what is being closed */
	PLACE_IDLE,       /* between two requests */
	PLACE_SLOW,       /* a body or an answer that hardly moves */
	PLACE_FIRM,       /* a request under way: gives way to nobody */
	PLACE_KINDS
};

struct place {
	h2o_linklist_t  link;
	enum place_kind kind;
	mono_us         since; /* it is of this kind */
	bool            leaves;
};

struct places {
	h2o_linklist_t lines[PLACE_KINDS];
	unsigned       counts[PLACE_KINDS]; /* of those who stay */
	unsigned       taken;               /* by those who leave, too */
	unsigned       max;                 /* of those who stay */
};

void places_open(struct places *places, unsigned max);

/* A connection that has come, is of another kind from now on (nothing changes if it is not), has been told to leave, has
 * gone. One that leaves has no kind any more. */
void place_take(struct places *places, struct place *place, enum place_kind kind, mono_us now);
void place_turn(struct places *places, struct place *place, enum place_kind kind, mono_us now);
void place_leave(struct places *places, struct place *place);
void place_free(struct places *places, struct place *place);

/* Is there none left for another connection? */
bool places_are_full(const struct places *places);

/* Has one been told to leave that is not gone yet? */
bool places_await_leavers(const struct places *places);

/* Who gives way: of the unfinished the one that has waited longest, but not before NEWCOMER_MS; else the one that has
 * idled longest; else the one that has been slow for longest; else an unfinished one after all, if they are more than half
 * of all. NULL: nobody. */
struct place *places_first(const struct places *places, mono_us now);
