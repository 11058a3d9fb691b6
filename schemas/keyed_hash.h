#pragma once
#include "schemas/span.h"

#include <stdint.h>

/* A hash for tables whose keys a client chooses: collisions cannot be predicted from outside. It differs between
 * processes and never leaves one. Errors: none. */
uint64_t keyed_hash(struct span key);
