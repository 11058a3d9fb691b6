#pragma once
#include "http/exchange.h"

/* What exists only where wallets are used: /robots.txt, and everything below /wallet/. Needs no API key. */
bool wallet_site_is_at(struct span path);

/* Takes a request for one of these paths and answers it, now or later. As long as nobody on this server has a credential for
 * wallets, they do not exist. */
void wallet_site_begin(struct exchange *exchange);
