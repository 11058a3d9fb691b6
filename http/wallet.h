#pragma once
#include "http/exchange.h"

/* The way of a pass into Apple's wallet: its package, below /p/. Refusals are pages. */

/* What the answers of a page's address depend on, where there are wallets. */
#define WALLET_VARY "Accept, User-Agent"

/* Asks for something else below the same token. Errors: those of exchange_call(). */
typedef enum err (*wallet_or_else)(struct exchange *exchange, struct call *head, struct span token);

/* Asks the shard of head->account for the package of the token's pass. `or_else`, of an address that has a page too: where nobody
 * has a wallet, it is called in place of an answer, as if the client had not named the package's type; NULL: the address is the
 * package's own. Errors: those of exchange_call(). */
must_check enum err wallet_ask_package(struct exchange *exchange, const struct call *head, struct span token,
                                       wallet_or_else or_else);
