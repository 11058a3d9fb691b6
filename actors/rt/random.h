#pragma once
#include <stddef.h>
#include <stdint.h>

/* Random bytes from the kernel, drawn 4 KiB at a time so that ids cost no system call each. One pool per
 * thread that uses it; zeroed is empty. Aborts if the kernel gives none. */
struct random_pool {
	uint8_t bytes[4096];
	size_t  left;
};
/* Drops what was drawn: a copy of this memory may hand out the same. */
void random_discard(struct random_pool *pool);
void random_take(struct random_pool *pool, void *to, size_t size);
