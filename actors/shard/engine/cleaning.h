#pragma once
#include "actors/shard/command.h"
#include "store/cleanup.h"

/* How far the background removal has come: the writer's, in memory; whoever comes next begins anew. */
struct cleaning {
	enum { CLEAN_LEFT_OVER, CLEAN_KEYS, CLEAN_ENDS, CLEAN_END } part;
	struct cleanup    at;      /* where the next look at what is left over begins */
	struct account_id account; /* the one at hand, of the other parts */
	bool              did;     /* something was removed in this round */
	bool begins_segment;  /* this step does nothing but write the record that a new segment begins with */
	mono_us next;         /* when the next step may be */
	mono_us segment_next; /* and the next such record */
};

/* Something may be due: no rest. And what has been written may be so at once. */
void cleaning_soon(struct cleaning *cleaning);
void cleaning_on_writes(struct cleaning *cleaning, const struct writes *writes, wall_us now);
