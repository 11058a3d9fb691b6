#pragma once
#include "actors/rt/options.h"
#include "schemas/span.h"

/* Is a browser's `origin` one of the operator's --cors-origin values? Compared byte for byte. Errors: none. */
bool cors_allows(const struct options *options, struct span origin);

/* The values of a preflight's answer. X-Total-Count and X-Has-More are deliberately exposed nowhere
 * (document 4.6, rule 2). */
#define CORS_METHODS     "GET, HEAD, POST, PUT, PATCH, DELETE"
#define CORS_HEADERS     "Authorization, Content-Type, Idempotency-Key, X-Request-Id"
#define CORS_MAX_AGE_SEC "600"
