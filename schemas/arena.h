#pragma once
#include <stddef.h>

/* Memory that is freed all at once, for one request or command. Zeroed is empty. Blocks of 16 KiB, larger on demand;
 * arena_reset() keeps the first block. Results are aligned to 16 and not cleared. Errors: arena_take() returns NULL
 * when out of memory. */
struct arena {
	struct arena_block *blocks;
	size_t              used_bytes; /* in the newest block */
};

void *arena_take(struct arena *arena, size_t size);
void  arena_reset(struct arena *arena);
void  arena_free(struct arena *arena);
