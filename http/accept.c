/* Reads Accept headers, as far as one media type is concerned. A quoted parameter may hold commas and semicolons. */
#include "http/accept.h"

#include "http/guard.h"

/* The text up to a separator outside of quotes; *rest: what follows that. */
static struct span cut(struct span text, char separator, struct span *rest)
{
	bool   is_quoted = false;
	size_t i = 0;
	for (; i < text.size; i++) {
		uint8_t c = text.at[i];
		if (is_quoted && c == '\\')
			i++;
		else if (c == '"')
			is_quoted = !is_quoted;
		else if (c == (uint8_t)separator && !is_quoted)
			break;
	}
	if (i > text.size) i = text.size;
	size_t behind = i < text.size ? i + 1 : i;
	*rest = span_of(text.at + behind, text.size - behind);
	return guard_trim(span_of(text.at, i));
}

/* "q=0", "Q=0.000" */
static bool is_zero_weight(struct span parameter)
{
	if (parameter.size < 3 || (parameter.at[0] | 0x20) != 'q' || parameter.at[1] != '=') return false;
	for (size_t i = 2; i < parameter.size; i++)
		if (parameter.at[i] != '0' && parameter.at[i] != '.') return false;
	return true;
}

bool accept_names(struct span accept, const char *type)
{
	while (accept.size) {
		struct span range = cut(accept, ',', &accept);
		bool        is_named = span_is_caseless(cut(range, ';', &range), type);
		while (is_named && range.size)
			is_named = !is_zero_weight(cut(range, ';', &range));
		if (is_named) return true;
	}
	return false;
}
