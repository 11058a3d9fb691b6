#pragma once
#include "http/exchange.h"

/* What exists only where wallets are used: /robots.txt, and everything below /wallet/. Needs no API key. */
bool wallet_site_is_at(struct span path);

/* Takes a request for one of these paths and answers it, now or later. As long as nobody on this server has a credential for
 * wallets, they do not exist. */
void wallet_site_begin(struct exchange *exchange);

/* The kinds of wallets that this server is known to have: or'ed WALLET_BIT(kind). More may come, none goes. */
unsigned wallet_kinds_known(const struct exchange *exchange);
/* Asks a shard, since every one knows them; on_reply takes its answer by wallet_kinds_of(), which remembers it. Errors: those of
 * exchange_call(). */
must_check enum err wallet_kinds_ask(struct exchange *exchange,
                                     void (*on_reply)(struct pending *pending, const struct reply *reply));
unsigned            wallet_kinds_of(struct exchange *exchange, const struct reply *reply);
