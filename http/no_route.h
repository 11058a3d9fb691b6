#pragma once
#include "http/exchange.h"

/* Refusals of a path. Errors of a route: ERR_ROUTE_NOT_FOUND, and ERR_METHOD_NOT_ALLOWED with exchange->allow. */

/* The sentence for `path`. */
void no_route_explain(const struct exchange *exchange, enum err err, struct span path,
                      struct refusal *refusal);
/* Answers the request with it. */
void no_route_answer(struct exchange *exchange, enum err err);
