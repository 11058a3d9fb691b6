#pragma once
#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, RFC 3720 appendix B.4), continued from `crc` (0 to begin). Uses the processor's instruction
 * or else tables, with equal results. Units: bytes. Errors: none. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size);

/* The same by tables on any processor: for tests that compare the two. */
uint32_t crc32c_by_table(uint32_t crc, const void *bytes, size_t size);
