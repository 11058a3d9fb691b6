#pragma once
#include "actors/rt/options.h"

/* Can the certificate, its key and the extra CA be read, and do the first two belong together? Asked before
 * the service changes anything. Errors (logged): ERR_BAD_OPTION. */
must_check enum err certificate_check(const struct options *options);
