#pragma once
#include "schemas/err.h"

#include <stdint.h>

/* Does the host give what a service needs (actors/rt/needs.h)? Nothing is changed but this process' own limits, which are
 * raised as far as they may be and which its children inherit. Errors (logged, with what is needed and what there is):
 * ERR_UNSUPPORTED. */
must_check enum err means_of_process(void);

/* Room for the files of a new data directory of so many shards. Where the disk does not say, there is. Errors (logged):
 * ERR_STORAGE_FULL. */
must_check enum err means_of_disk(const char *dir, uint32_t shards);
