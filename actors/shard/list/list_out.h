#pragma once
#include "actors/shard/command.h"

/* A list answer being built. Items are packed one by one; whenever they reach REPLY_PART_BYTES_MAX they leave as a part (an
 * array of items). The last part is [items, total, has more]. */
struct list_out {
	struct outcome *outcome;
	struct buffer   items;
	uint32_t        count;
	size_t          sent; /* bytes of parts that have left */
	/* A part found no memory or no room, so nothing more leaves; list_end() returns it too. */
	enum err err;
};

void list_begin(struct list_out *list, struct outcome *outcome);
/* If the list's `err` is set, its items are dropped, so the caller may as well end. */
struct buffer *list_item(struct list_out *list); /* append exactly one msgpack value to it */
/* For lists without pages, from time to time: may the list continue? Errors: ERR_OVERLOADED: its caller has stopped waiting,
 * or it has reached LIST_BYTES_MAX. */
must_check enum err list_may_go_on(const struct list_out *list, const struct request *request);
/* Frees the list's memory. Errors: list->err. */
must_check enum err list_end(struct list_out *list, uint64_t total, bool has_more);
void                list_drop(struct list_out *list); /* instead of list_end(); safe after it */

/* Bytes instead of items: sends all but the end, in parts of REPLY_PART_BYTES_MAX, and leaves the end in *bytes. Errors: those of
 * outcome->part(), ERR_NO_MEMORY. */
must_check enum err send_front(struct outcome *outcome, struct span *bytes);
