#pragma once
#include <stdint.h>

#include "bench/options.h"

/* What a run reads from files before it begins: API keys, and a name for each pass. Errors: sources_read: a text; NULL: none.
 * Call sources_free in either case. */
struct sources {
	char                *name_lines; /* what `names` has, or NULL */
	struct request_names names;
	char                *key_text;
	const char         **keys; /* from key_text, or the one of the command line */
	uint32_t             key_count;
};

const char *sources_read(struct sources *sources, const struct options *options);
void        sources_free(struct sources *sources);
