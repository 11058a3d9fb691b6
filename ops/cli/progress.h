#pragma once
#include "schemas/clock.h"

#include <stdbool.h>
#include <stdint.h>

/* A progress bar on standard error, where that is a terminal; silent elsewhere. The work may come in parts, one after
 * the other, each a like share of the whole. Errors: none. */
struct bar {
	const char *what;
	bool        on, shown;
	uint32_t    part, parts;
	mono_us     next; /* it is drawn at most every 100 ms */
};

void bar_begin(struct bar *bar, const char *what);
void bar_show(struct bar *bar, uint64_t done,
              uint64_t total); /* of the part at hand; total 0: not known yet */
void bar_end(struct bar *bar); /* takes it off the screen */
