#pragma once
#include "ops/cli/import/flight.h"

/* Finds out which rows of unknown fate were created: those end, the others become ready again. Nothing may be on its way.
 * Errors: as a call's; nothing is settled then. */
must_check enum err settle(struct flight *flight);

/* Learns the account's newest pass, before the first row is sent. Errors: as a call's. */
must_check enum err settle_begin(struct flight *flight);
