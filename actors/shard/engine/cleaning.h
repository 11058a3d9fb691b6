#pragma once
#include "actors/shard/command.h"
#include "store/cleanup.h"

/* Progress of the background removal. Kept in the writer's memory only: a new process starts from the beginning. */
struct cleaning {
	enum { CLEAN_LEFT_OVER, CLEAN_KEYS, CLEAN_ENDS, CLEAN_END } part;
	struct cleanup    at;      /* CLEAN_LEFT_OVER: next row of the table `cleanup` */
	struct account_id account; /* other parts: the current account */
	bool              did;     /* this round removed something, or more was left over since it began */
	bool              begins_segment; /* this step only writes the first record of a new segment */
	mono_us           next;           /* earliest time of the next step */
	mono_us           segment_next;   /* earliest time of the next forced segment */
};

/* cleaning_soon() ends the rest. cleaning_on_writes() does so if a write left rows that are due now. */
void cleaning_soon(struct cleaning *cleaning);
void cleaning_on_writes(struct cleaning *cleaning, const struct writes *writes, wall_us now);
