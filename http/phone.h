#pragma once
#include "http/exchange.h"

/* What wallets call: below /wallet/google/ Google says what became of passes; below /wallet/apple/ phones register for passes, ask which have changed, and report what
 * they did not like. The token in a request stands for an API key. While nobody on this server has such a wallet, there is no
 * such path. Takes a request for one of these paths and answers it, now or later. */
void phone_begin(struct exchange *exchange, const struct request_headers *headers);
