/* The progress bar: one line, drawn over itself. */
#include "ops/cli/progress.h"
#include "actors/rt/time.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DRAW_EVERY_MS = 100, WIDTH = 40 };

void bar_begin(struct bar *bar, const char *what)
{
	*bar = (struct bar){.what = what, .on = isatty(STDERR_FILENO), .parts = 1};
}

void bar_show(struct bar *bar, uint64_t done, uint64_t total)
{
	char    line[WIDTH + 1];
	mono_us now = time_mono();

	if (!bar->on || now.v < bar->next.v) return;
	double part = total && done < total ? (double)done / (double)total : total ? 1.0 : 0.0;
	double share = (bar->part + part) / bar->parts;
	size_t full = (size_t)(share * WIDTH);
	memset(line, '.', WIDTH);
	memset(line, '#', full < WIDTH ? full : WIDTH);
	line[WIDTH] = 0;
	fprintf(stderr, "\r%s [%s] %3d %%", bar->what, line, (int)(share * 100));
	fflush(stderr);
	bar->shown = true;
	bar->next = mono_after(now, (dur_us){DRAW_EVERY_MS * US_PER_MS});
}

void bar_end(struct bar *bar)
{
	if (bar->shown) fputs("\r\033[K", stderr);
	bar->shown = bar->on = false;
}
