#pragma once
#include "schemas/clock.h"

#include <stdbool.h>
#include <stdint.h>

/* A progress bar on standard error if that is a terminal; silent otherwise. Work may come in successive parts with equal
 * shares of the whole. Errors: none. */
struct bar {
	const char *what;
	bool        on, shown;
	uint32_t    part, parts;
	mono_us     next; /* drawn at most every 100 ms */
};

void bar_begin(struct bar *bar, const char *what);
/* `done` and `total` are of the current part; total 0: not known yet. */
void bar_show(struct bar *bar, uint64_t done, uint64_t total);
void bar_end(struct bar *bar); /* removes it from the screen */
