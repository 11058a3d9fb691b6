#pragma once
#include "schemas/limits.h"
#include "schemas/lines.h"

/* Where a data directory's rows come from. Every making of a data directory, a restore too, gives it a lineage of its own:
 * 16 random bytes. A restored one remembers those that its backup had come through, the oldest first. */
enum { LINEAGE_BYTES = 16 };

struct lineages {
	uint32_t count;
	uint8_t  of[LINEAGES_MAX][LINEAGE_BYTES];
};

void lineages_add(struct lineages *lineages, const uint8_t lineage[LINEAGE_BYTES]); /* as the newest */

/* A line `name=` with the hexadecimal digits of all, side by side; none: nothing behind it. */
void lines_lineages(struct buffer *out, const char *name, const struct lineages *lineages);
void lines_take_lineages(struct lines *lines, const char *name, struct lineages *lineages);
