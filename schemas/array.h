#pragma once
#include <stddef.h>
#include <stdlib.h>

/* Arrays that grow by doubling. Units: elements, of `size` bytes each. */

/* The array at `at`, moved if need be, with space for one more than `count` elements. NULL: no memory; `at` and `*room` are
 * unchanged. */
static inline void *array_grown(void *at, size_t count, size_t *room, size_t size)
{
	if (count < *room) return at;
	size_t wanted = *room ? *room * 2 : 64;
	void  *more = realloc(at, wanted * size);
	if (more) *room = wanted;
	return more;
}
