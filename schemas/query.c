/* Percent-encoding and query strings, as browsers write forms. Pure. */
#include "schemas/query.h"

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9') return c - '0';
	if (c >= 'a' && c <= 'f') return c - 'a' + 10;
	if (c >= 'A' && c <= 'F') return c - 'A' + 10;
	return -1;
}

bool percent_decode(struct span text, bool plus_is_space, uint8_t *out, size_t *size)
{
	size_t to = 0;
	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.at[i];
		if (c == '+' && plus_is_space) c = ' ';
		if (c == '%') {
			if (text.size - i < 3) return false;
			int high = hex_digit(text.at[i + 1]), low = hex_digit(text.at[i + 2]);
			if (high < 0 || low < 0) return false;
			c = (uint8_t)(high << 4 | low);
			i += 2;
		}
		out[to++] = c;
	}
	*size = to;
	return true;
}

/* The part before the first `mark`; `*rest` becomes the part after it. */
static struct span take_until(struct span *rest, uint8_t mark)
{
	const uint8_t *end = rest->size ? memchr(rest->at, mark, rest->size) : NULL;
	struct span    taken = *rest;
	if (end) taken.size = (size_t)(end - rest->at);
	size_t used = taken.size + (end != NULL);
	*rest = span_of(rest->at + used, rest->size - used);
	return taken;
}

bool query_next(struct span *rest, struct span *name, struct span *value)
{
	while (rest->size) {
		*value = take_until(rest, '&');
		if (value->size == 0) continue;
		*name = take_until(value, '=');
		return true;
	}
	return false;
}

enum query_form query_cut_form(struct span *name)
{
	const uint8_t *bracket = name->size ? memchr(name->at, '[', name->size) : NULL;
	if (!bracket) return QUERY_PLAIN;
	struct span form = span_of(bracket, name->size - (size_t)(bracket - name->at));
	size_t      end = 1;
	while (end < form.size && form.at[end] >= '0' && form.at[end] <= '9')
		end++;
	name->size -= form.size;
	return end + 1 == form.size && form.at[end] == ']' ? QUERY_ARRAY : QUERY_BROKEN;
}
