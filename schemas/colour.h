#pragma once
#include "schemas/span.h"

/* The text colour with the better contrast on `background` ("#rrggbb"): "#000" or "#fff", by the contrast ratio of the Web
 * Content Accessibility Guidelines. The better one has at least 4.58; the guidelines require 4.5. Pure. NULL: `background` is
 * no colour. */
const char *colour_ink(struct span background);
