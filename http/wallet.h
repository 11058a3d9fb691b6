#pragma once
#include "http/exchange.h"

/* The way of a pass into Apple's wallet: its package, below /p/ where refusals are pages, and for a phone that has it. */

/* What the answers of a page's address depend on, where there are wallets. */
#define WALLET_VARY "Accept, User-Agent"

/* Asks for something else below the same token. Errors: those of exchange_call(). */
typedef enum err (*wallet_or_else)(struct exchange *exchange, struct call *head, struct span token);

/* Asks the shard of head->account for the package of the token's pass. `or_else`, of an address that has a page too: where nobody
 * has a wallet, it is called in place of an answer, as if the client had not named the package's type; NULL: the address is the
 * package's own. Errors: those of exchange_call(). */
must_check enum err wallet_ask_package(struct exchange *exchange, const struct call *head, struct span token,
                                       wallet_or_else or_else);

/* What a phone asks for. Spans are copied. */
struct wallet_wish {
	struct span    account, type, serial; /* as its path names them */
	const uint8_t *token;                 /* TOKEN_BYTES of the link */
	int64_t        since_s;               /* If-Modified-Since, in seconds since 1970; -1: none */
	void (*refuse)(struct exchange *exchange, enum err err); /* answers in place of a package */
};

/* Asks the shard of head->account for the pass as the phone is to have it: 200, or 304. Errors: those of exchange_call(). */
must_check enum err wallet_ask_pass(struct exchange *exchange, const struct call *head,
                                    const struct wallet_wish *wish);
