#pragma once
#include "actors/shard/command.h"

/* A list answer in the making: items are packed one by one; whenever REPLY_PART_BYTES_MAX have gathered they
 * leave as a part (an array of items). The last part is [items, total, has more]. */
struct list_out {
	struct outcome *outcome;
	struct buffer   items;
	uint32_t        count;
	size_t          sent; /* bytes of parts that have left */
	enum err err; /* nothing more leaves: a part found no memory, or no room; list_end() says so too */
};

void list_begin(struct list_out *list, struct outcome *outcome);
/* A list whose `err` is set may as well end: its items go nowhere. */
struct buffer *list_item(struct list_out *list); /* exactly one msgpack value is to be appended to it */
/* For lists that know no pages, now and then: may it go on? Errors: ERR_OVERLOADED: its caller waits no longer, or it
 * has come to LIST_BYTES_MAX. */
must_check enum err list_may_go_on(const struct list_out *list, const struct request *request);
/* Takes the list's memory. Errors: list->err. */
must_check enum err list_end(struct list_out *list, uint64_t total, bool has_more);
void                list_drop(struct list_out *list); /* instead of list_end(); safe after it */
