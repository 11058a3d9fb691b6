#pragma once
#include "schemas/address.h"
#include "schemas/err.h"

/* Fills in rules->own: the addresses of this host's interfaces that would otherwise be a stranger's. They change with time:
 * once a minute is enough. Errors: ERR_IO (the rules are as before), ERR_TOO_LARGE (the first ADDRESS_OWN_MAX are in them). */
must_check enum err own_addresses(struct address_rules *rules);
