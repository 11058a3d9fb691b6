#pragma once
#include "schemas/bytes.h"
#include "schemas/err.h"
#include "schemas/span.h"

#include <stddef.h>
#include <stdint.h>

/* Shared by the targets. A target is one function that libFuzzer calls with bytes, repeatedly in one process.
 * Properties are checked with must(), whose abort is the finding. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The fuzzer's bytes, read from the front as values. After their end everything reads as zero. */
struct supply {
	struct span left;
};

static inline uint8_t supply_byte(struct supply *supply)
{
	if (!supply->left.size) return 0;
	supply->left.size--;
	return *supply->left.at++;
}

static inline uint64_t supply_number(struct supply *supply, unsigned width)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < width; i++)
		value = value << 8 | supply_byte(supply);
	return value;
}

/* At most `max` bytes. */
static inline struct span supply_bytes(struct supply *supply, size_t max)
{
	struct span part = span_of(supply->left.at, supply->left.size < max ? supply->left.size : max);
	supply->left = span_of(supply->left.at + part.size, supply->left.size - part.size);
	return part;
}

static inline struct span supply_rest(struct supply *supply)
{
	return supply_bytes(supply, supply->left.size);
}

/* A number that is small, at a limit, or random, with equal probability. */
static inline int64_t supply_integer(struct supply *supply)
{
	static const int64_t edges[] = {
	    0,         1,         -1,         INT64_MAX,     INT64_MIN,     INT64_C(9007199254740991),
	    INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX - 1, INT64_MIN + 1, INT64_C(-9007199254740991)};
	uint8_t how = supply_byte(supply);
	if (how < 128) return (int64_t)how - 16;
	if (how < 192) return edges[how % (sizeof edges / sizeof *edges)];
	return (int64_t)supply_number(supply, how < 224 ? 4 : 8);
}
