#pragma once
#include "http/exchange.h"

/* The pages of holders, below /p/. Like `/openapi.json`, they need no API key. */
bool page_is_at(struct span path);

/* Takes a request for one of these paths and answers it, now or later. */
void page_begin(struct exchange *exchange, const struct request_headers *headers);
