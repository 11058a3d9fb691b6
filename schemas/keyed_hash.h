#pragma once
#include "schemas/span.h"

#include <stdint.h>

/* A hash for tables whose keys a stranger chooses: nobody outside can tell which keys meet. It differs from one
 * process to the next and never leaves one. Errors: none. */
uint64_t keyed_hash(struct span key);
