/* JSON on a terminal: no character of a string acts on it. */
#include "schemas/json.h"

#include <stdio.h>

void json_shown(struct span text, struct buffer *out)
{
	size_t   run = 0, size;
	uint32_t point;
	for (size_t i = 0; i < text.size; i += size) {
		char escape[8];
		size = utf8_character(span_of(text.at + i, text.size - i), &point);
		if (!size) size = 1;
		/* In a string the first 32 are escaped already. */
		if (point < 0x20 || !(utf8_is_control(point) || utf8_turns_direction(point))) continue;
		buffer_append(out, text.at + run, i - run);
		snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(point & 0xffff));
		buffer_text(out, escape);
		run = i + size;
	}
	buffer_append(out, text.at + run, text.size - run);
}
