#pragma once
#include "schemas/address.h"
#include "schemas/err.h"

/* Fills rules->own with the public addresses of this host's interfaces. They change over time; once a minute is enough.
 * Errors: ERR_IO (the rules are unchanged), ERR_TOO_LARGE (they have the first ADDRESS_OWN_MAX). */
must_check enum err own_addresses(struct address_rules *rules);
