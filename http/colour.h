#pragma once
#include "schemas/span.h"

/* The ink that can be read best on a background, "#rrggbb": "#000" or "#fff", by the contrast ratio of the Web Content
 * Accessibility Guidelines. One of the two has 4.58 at least, where 4.5 are asked for. Pure. Errors: none; NULL when
 * `background` is no colour. */
const char *colour_ink(struct span background);
