#pragma once
#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, RFC 3720 appendix B.4), continued from `crc` (0 to begin). By the processor's
 * instruction where it has one, else by table: the results are equal. Units: bytes. Errors: none. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size);

/* The same by table alone, whatever the processor: for tests that hold the two against each other. */
uint32_t crc32c_by_table(uint32_t crc, const void *bytes, size_t size);
