/* CRC-32C twice: eight table lookups for eight bytes on processors without an instruction for it, and the
 * instruction. It takes three cycles but a new one may start in each, so long inputs are cut into three strips
 * summed in parallel. Sums of strips can be combined because a CRC is linear: the sum of A|B is the sum of A moved
 * past |B| zero bytes, xor the sum of B. The move past one strip is a table. */
#include "schemas/crc32c.h"

#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* Castagnoli, bits reversed */
enum { STRIP_BYTES = 256 };

static uint32_t table[8][256]; /* table[k][b]: byte b, then k zero bytes */
static uint32_t moved[4][256]; /* moved[k][b]: byte b of a sum, at place k, past STRIP_BYTES zero bytes */
static bool     has_instruction;

static uint64_t load_le(const uint8_t *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

static uint32_t raw_by_table(uint32_t crc, const uint8_t *at, size_t size)
{
	for (; size >= 8; at += 8, size -= 8) {
		uint64_t word = load_le(at) ^ crc;
		crc = 0;
#pragma GCC unroll 8
		for (int k = 0; k < 8; k++)
			crc ^= table[7 - k][(word >> (8 * k)) & 0xff];
	}
	for (; size > 0; at++, size--)
		crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xff];
	return crc;
}

#if defined(__x86_64__)
static uint32_t past_strip(uint32_t crc)
{
	return moved[0][crc & 0xff] ^ moved[1][crc >> 8 & 0xff] ^ moved[2][crc >> 16 & 0xff] ^
	       moved[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t raw_by_instruction(uint32_t crc, const uint8_t *at,
                                                                     size_t size)
{
	for (; size >= 3 * STRIP_BYTES; at += 3 * STRIP_BYTES, size -= 3 * STRIP_BYTES) {
		uint64_t a = crc, b = 0, c = 0;
		for (size_t i = 0; i < STRIP_BYTES; i += 8) {
			a = __builtin_ia32_crc32di(a, load_le(at + i));
			b = __builtin_ia32_crc32di(b, load_le(at + STRIP_BYTES + i));
			c = __builtin_ia32_crc32di(c, load_le(at + 2 * STRIP_BYTES + i));
		}
		crc = past_strip(past_strip((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
	}
	uint64_t wide = crc;
	for (; size >= 8; at += 8, size -= 8)
		wide = __builtin_ia32_crc32di(wide, load_le(at));
	crc = (uint32_t)wide;
	for (; size > 0; at++, size--)
		crc = __builtin_ia32_crc32qi(crc, *at);
	return crc;
}
#endif

static void fill_moved(void)
{
	static const uint8_t zeros[STRIP_BYTES];
	uint32_t             bit_moved[32];
	for (int bit = 0; bit < 32; bit++)
		bit_moved[bit] = raw_by_table(1u << bit, zeros, sizeof(zeros));
	for (unsigned byte = 0; byte < 256; byte++)
		for (int bit = 0; bit < 8; bit++)
			for (int k = 0; k < 4; k++)
				if (byte >> bit & 1) moved[k][byte] ^= bit_moved[8 * k + bit];
}

/* Runs before main(), so that no thread needs to check whether the tables exist. */
__attribute__((constructor)) static void fill_tables(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
		table[0][byte] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (unsigned byte = 0; byte < 256; byte++)
			table[k][byte] = table[k - 1][byte] >> 8 ^ table[0][table[k - 1][byte] & 0xff];
	fill_moved();
#if defined(__x86_64__)
	__builtin_cpu_init();
	has_instruction = __builtin_cpu_supports("sse4.2");
#endif
}

uint32_t crc32c_by_table(uint32_t crc, const void *bytes, size_t size)
{
	return ~raw_by_table(~crc, bytes, size);
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t size)
{
#ifdef FAULT_NO_CHECKS
	size = 0; /* the fault: a checksum that matches everything */
#endif
#if defined(__x86_64__)
	if (has_instruction) return ~raw_by_instruction(~crc, bytes, size);
#endif
	return crc32c_by_table(crc, bytes, size);
}
