/* Which text colour is readable on a background. The guidelines weight light as the eye does: each channel is made linear
 * (sRGB), green counts most. The contrast is the ratio of both luminances, each plus a little stray light. */
#include "schemas/colour.h"

#include "schemas/template.h"

#include <math.h>

static unsigned digit(uint8_t c)
{
	return c <= '9' ? c - (unsigned)'0' : (c | 0x20u) - 'a' + 10;
}

static double channel(const uint8_t *digits)
{
	double value = (digit(digits[0]) * 16 + digit(digits[1])) / 255.0;
	return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

const char *colour_ink(struct span background)
{
	static const double stray = 0.05;
	if (!is_colour(background)) return NULL;
	const uint8_t *at = background.at + 1;
	double         luminance = 0.2126 * channel(at) + 0.7152 * channel(at + 2) + 0.0722 * channel(at + 4);
	double with_white = (1 + stray) / (luminance + stray), with_black = (luminance + stray) / stray;
	return with_white >= with_black ? "#fff" : "#000";
}
