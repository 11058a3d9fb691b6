/* A stack of blocks, newest first. An allocation moves a mark within the newest block; nothing is freed singly. One
 * request uses one or two blocks, so a reset is cheap: the ordinary first block stays. */
#include "schemas/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { ALIGNMENT = 16, BLOCK_BYTES = 16 * 1024 };

struct arena_block {
	struct arena_block *older;
	size_t              size; /* of `bytes` */
	alignas(ALIGNMENT) uint8_t bytes[];
};

enum { ORDINARY_BYTES = BLOCK_BYTES - sizeof(struct arena_block) };

static struct arena_block *block_new(struct arena *arena, size_t size)
{
	if (size < ORDINARY_BYTES) size = ORDINARY_BYTES;
	struct arena_block *block = malloc(sizeof(*block) + size);
	if (!block) return NULL;
	block->older = arena->blocks;
	block->size = size;
	arena->blocks = block;
	arena->used_bytes = 0;
	return block;
}

void *arena_take(struct arena *arena, size_t size)
{
	if (size > SIZE_MAX / 2) return NULL;
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	struct arena_block *block = arena->blocks;
	if (!block || block->size - arena->used_bytes < size) block = block_new(arena, size);
	if (!block) return NULL;
	void *taken = block->bytes + arena->used_bytes;
	arena->used_bytes += size;
	return taken;
}

void arena_reset(struct arena *arena)
{
	struct arena_block *block = arena->blocks;
	/* An oversized block is not kept: one large request would hold its memory forever. */
	while (block && (block->older || block->size > ORDINARY_BYTES)) {
		struct arena_block *older = block->older;
		free(block);
		block = older;
	}
	arena->blocks = block;
	arena->used_bytes = 0;
}

void arena_free(struct arena *arena)
{
	arena_reset(arena);
	free(arena->blocks);
	*arena = (struct arena){0};
}
