#pragma once
#include "schemas/limits.h"
#include "schemas/lines.h"

/* The origin of a data directory's rows. Each creation of a data directory, also by a restore, gives it a lineage of
 * its own: 16 random bytes. A restored one remembers the lineages of its backup, the oldest first. */
enum { LINEAGE_BYTES = 16 };

struct lineages {
	uint32_t count;
	uint8_t  of[LINEAGES_MAX][LINEAGE_BYTES];
};

void lineages_add(struct lineages *lineages, const uint8_t lineage[LINEAGE_BYTES]); /* as the newest */

/* A line `name=` with the hexadecimal digits of all, concatenated; empty if there are none. */
void lines_lineages(struct buffer *out, const char *name, const struct lineages *lineages);
void lines_take_lineages(struct lines *lines, const char *name, struct lineages *lineages);
