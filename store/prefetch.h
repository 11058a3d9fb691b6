#pragma once
#include "store/view.h"

#include <stddef.h>

/* Prefetches the pages of a table that a reader's cursor will visit next. Pages are found by parsing LMDB's page
 * format; if a page does not match it, there are no hints. Nothing outside the map is read, and no row is read
 * through here. Errors: none. */
enum { AHEAD_PAGES = 8, AHEAD_LEVELS_MAX = 8 };

struct prefetch_level {
	const uint8_t *page;
	unsigned       at, count; /* of its children: the next one */
};

struct prefetch {
	const uint8_t *map;
	size_t         page_bytes;
	uint64_t       pages;  /* in use, of the map */
	unsigned       height; /* pages from the table's root to a leaf, leaf not counted; 0: unknown */
	unsigned       depth;  /* of `levels` */
	struct prefetch_level levels[AHEAD_LEVELS_MAX];
	const uint8_t        *here;                /* the leaf that the cursor is in */
	const uint8_t        *coming[AHEAD_PAGES]; /* prefetched; NULL behind the last */
	unsigned              next;                /* the one that the cursor reaches first */
};

/* For a cursor at the row of this key, which lies in the map, that moves forward. */
void prefetch_begin(struct prefetch *ahead, struct view *view, enum table table, struct span key);

/* The cursor is at the row whose key lies at `at`. */
void prefetch_follow(struct prefetch *ahead, const uint8_t *at);
