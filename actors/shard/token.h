#pragma once
#include "schemas/ids.h"

/* The 128 bits in a pass's download_url: the block {account, number, 16 zero bits} under AES-256 with the data
 * directory's master key. Nobody without the key can tell it from random or make one, every incarnation of a
 * pass has its own, and finding the pass behind one needs no index. A process has one master key: the first one given counts. Errors: false, when it is none of ours. */
void token_make(const uint8_t master_key[32], struct account_id account, uint32_t number, uint8_t token[16]);
bool token_read(const uint8_t master_key[32], const uint8_t token[16], struct account_id *account,
                uint32_t *number);
