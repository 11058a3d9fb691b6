/* The ink colour on a background: enough contrast on every one. */
#include "schemas/colour.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

/* A second implementation of the guidelines. */
static double linear(unsigned value)
{
	double c = value / 255.0;
	return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

Test(colour, ink_has_the_required_contrast_on_every_colour)
{
	double worst = 21;
	for (unsigned i = 0; i < 32 * 32 * 32; i++) {
		unsigned r = i % 32 * 255 / 31, g = i / 32 % 32 * 255 / 31, b = i / 1024 * 255 / 31;
		char     text[8];
		snprintf(text, sizeof text, i % 2 ? "#%02x%02x%02x" : "#%02X%02X%02X", r, g, b);
		const char *ink = colour_ink(span_str(text));
		cr_assert(ink && (!strcmp(ink, "#fff") || !strcmp(ink, "#000")));
		double light = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05;
		double ratio = ink[1] == 'f' ? 1.05 / light : light / 0.05;
		if (ratio < worst) worst = ratio;
	}
	cr_expect_geq(worst, 4.5);
}

Test(colour, an_invalid_colour_has_no_ink)
{
	static const char *const texts[] = {
	    "", "#fff", "112233", "#11223g", "#1122334", "red", "#\x10\x11\x12\x13\x14\x15"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect_null(colour_ink(span_str(texts[i])), "%s", texts[i]);
	cr_expect_str_eq(colour_ink(span_str("#000000")), "#fff");
	cr_expect_str_eq(colour_ink(span_str("#FFFFFF")), "#000");
}
