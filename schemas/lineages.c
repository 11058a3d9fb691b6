/* Lineages in chronological order. They are few, so adding one beyond the limit moves the rest. */
#include "schemas/lineages.h"

void lineages_add(struct lineages *lineages, const uint8_t lineage[LINEAGE_BYTES])
{
	if (lineages->count == LINEAGES_MAX) {
		lineages->count--;
		memmove(&lineages->of[0], &lineages->of[1], sizeof lineages->of - LINEAGE_BYTES);
	}
	memcpy(lineages->of[lineages->count++], lineage, LINEAGE_BYTES);
}

void lines_lineages(struct buffer *out, const char *name, const struct lineages *lineages)
{
	lines_hex(out, name, lineages->of[0], lineages->count * sizeof lineages->of[0]);
}

void lines_take_lineages(struct lines *lines, const char *name, struct lineages *lineages)
{
	struct span text = lines_take_text(lines, name);
	size_t      count = text.size / (2 * LINEAGE_BYTES);
	lineages->count = 0;
	if (count > LINEAGES_MAX || !hex_read(text, lineages->of[0], count * LINEAGE_BYTES))
		lines->failed = true;
	else
		lineages->count = (uint32_t)count;
}
