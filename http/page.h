#pragma once
#include "http/exchange.h"

/* The pages of holders, below /p/. They need no API key, like nothing else but `/openapi.json`. */
bool page_is_at(struct span path);

/* Takes a request whose path is one of theirs, and answers it, now or later. */
void page_begin(struct exchange *exchange, const struct request_headers *headers);
