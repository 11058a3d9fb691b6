#pragma once
#include "schemas/span.h"

/* Does the value of an Accept header name this media type, with a weight above zero? Wildcards name none. Lower and upper case are
 * the same. Pure. Source: RFC 9110, 12.5.1. */
bool accept_names(struct span accept, const char *type);
