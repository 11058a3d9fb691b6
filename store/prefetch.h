#pragma once
#include "store/view.h"

#include <stddef.h>

/* Which pages of a table a reader's cursor is going to come to, so that they can be asked from memory in time. These are
 * hints and nothing else: they are found in LMDB's pages by what is known of their form, and where that does not hold
 * there are none. Nothing is read outside the map, and no row is taken from here. Errors: none. */
enum { AHEAD_PAGES = 8, AHEAD_LEVELS_MAX = 8 };

struct prefetch_level {
	const uint8_t *page;
	unsigned       at, count; /* of its children: the one that comes next */
};

struct prefetch {
	const uint8_t *map;
	size_t         page_bytes;
	uint64_t       pages; /* of the map that are in use */
	unsigned
	    height; /* of the table: pages between its root and a leaf, with the root; 0: nothing is known */
	unsigned              depth; /* of `levels` */
	struct prefetch_level levels[AHEAD_LEVELS_MAX];
	const uint8_t        *here;                /* the leaf that the cursor is in */
	const uint8_t        *coming[AHEAD_PAGES]; /* asked for already; NULL behind the last */
	unsigned              next;                /* which of them the cursor comes to first */
};

/* For a cursor that has come to the row of this key, as it lies in the map, and goes on from there. */
void prefetch_begin(struct prefetch *ahead, struct view *view, enum table table, struct span key);

/* It has come to the row whose key lies at `at`. */
void prefetch_follow(struct prefetch *ahead, const uint8_t *at);
