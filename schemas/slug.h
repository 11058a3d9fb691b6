#pragma once
#include "schemas/err.h"
#include "schemas/limits.h"
#include "schemas/span.h"

/* Slugs: lower-case letters and digits in segments separated by an underscore: [a-z0-9]+(_[a-z0-9]+)*, of at most
 * REWARD_SLUG_BYTES_MAX. Source: document 4.2, and the decisions on deriving one from a name. Pure. Errors: as
 * named. */
struct slug {
	uint8_t b[REWARD_SLUG_BYTES_MAX];
	size_t  size;
};

bool slug_is_valid(struct span text);

/* Derives one from a name (valid UTF-8): folded as for search, every run of other characters one underscore, cut,
 * trimmed; "reward" if nothing is left. Errors: ERR_NO_MEMORY. */
must_check enum err slug_make(struct span name, struct slug *slug);

/* The base, cut if needed, with "_number" appended. */
void slug_number(const struct slug *base, uint32_t number, struct slug *slug);

static inline struct span slug_span(const struct slug *slug)
{
	return span_of(slug->b, slug->size);
}
