#pragma once
#include "http/exchange.h"

/* The way of a pass into Google's wallet, below /p/; and what Google says of passes. */

/* Asks the shard of head->account for the link that saves the token's pass, and sends the client there. Errors: those of
 * exchange_call(). */
must_check enum err google_ask_link(struct exchange *exchange, struct call *head, struct span token);

/* What Google says of a pass of that account, in `body`. Errors: those of exchange_call(). */
must_check enum err google_ask_callback(struct exchange *exchange, const struct call *head,
                                        struct span account, struct span body);
