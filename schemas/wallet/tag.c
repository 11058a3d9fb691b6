/* Tags of lists: three numbers and two points. */
#include "schemas/wallet/tag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wallet_tag_text(const struct wallet_tag *tag, char text[WALLET_TAG_TEXT])
{
	snprintf(text, WALLET_TAG_TEXT, "%016llx.%llu.%u", (unsigned long long)tag->lineage,
	         (unsigned long long)tag->seq, (unsigned)tag->look);
}

/* Any text is read somehow; only ours is written the same again. */
bool wallet_tag_read(struct span text, struct wallet_tag *tag)
{
	char  copy[WALLET_TAG_TEXT], again[WALLET_TAG_TEXT];
	char *at = copy;
	if (!text.size || text.size >= sizeof copy) return false;
	memcpy(copy, text.at, text.size);
	copy[text.size] = 0;
	tag->lineage = strtoull(at, &at, 16);
	if (*at++ != '.') return false;
	tag->seq = strtoull(at, &at, 10);
	if (*at++ != '.') return false;
	tag->look = (uint32_t)strtoul(at, &at, 10);
	wallet_tag_text(tag, again);
	return span_equal(text, span_str(again));
}
