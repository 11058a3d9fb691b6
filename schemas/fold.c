/* Folding, by utf8proc; plain ASCII, which most of it is, without. */
#include "schemas/fold.h"

#include <stdlib.h>
#include <utf8proc.h>

static bool is_ascii(struct span text)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.at[i] >= 0x80) return false;
	return true;
}

static void fold_ascii(struct span text, struct buffer *out)
{
	uint8_t *to = text.size ? buffer_reserve(out, text.size) : NULL;
	if (!to) return;
	for (size_t i = 0; i < text.size; i++) {
		uint8_t letter = text.at[i];
		to[i] = letter >= 'A' && letter <= 'Z' ? (uint8_t)(letter + 32) : letter;
	}
	out->size += text.size;
}

void fold_text(struct span text, struct buffer *out)
{
	static const utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE |
	                                     UTF8PROC_STRIPMARK | UTF8PROC_CASEFOLD;
	utf8proc_uint8_t *folded = NULL;
	if (is_ascii(text)) {
		fold_ascii(text, out);
		return;
	}
	utf8proc_ssize_t size = utf8proc_map(text.at, (utf8proc_ssize_t)text.size, &folded, how);
	if (size < 0)
		out->failed = true;
	else
		buffer_append(out, folded, (size_t)size);
	free(folded);
}

struct span utf8_first(struct span text, size_t count)
{
	size_t at = 0;
	for (; at < text.size; at++)
		if ((text.at[at] & 0xc0) != 0x80 && count-- == 0) break;
	return span_of(text.at, at);
}

size_t utf8_length(struct span text)
{
	size_t length = 0;
	for (size_t i = 0; i < text.size; i++)
		length += (text.at[i] & 0xc0) != 0x80;
	return length;
}
