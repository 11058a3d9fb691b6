/* Which web pages may call the interface from a browser. Pure. */
#include "http/cors.h"

bool cors_allows(const struct options *options, struct span origin)
{
	/* A value copied into a header must be visible ASCII, whatever the list contains. */
	for (size_t i = 0; i < origin.size; i++)
		if (origin.at[i] <= ' ' || origin.at[i] >= 0x7f) return false;
	if (origin.size == 0) return false;
	for (unsigned i = 0; i < options->cors_origin_count; i++)
		if (span_is(origin, options->cors_origins[i])) return true;
	return false;
}
