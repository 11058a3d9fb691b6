#pragma once
#include "schemas/span.h"

#include <stdint.h>

/* Searches whole numbers for a few characters of their decimal form, without printing them. */
struct digits {
	bool     possible;     /* can any number contain them? */
	bool     negative;     /* they begin with a minus */
	unsigned count;        /* of digits */
	uint64_t value, power; /* value of the digits; 10 to the power of `count` */
};

struct digits digits_read(struct span what);
bool          digits_are_in(const struct digits *digits, int64_t number);

/* Does `number` end with these digits (without a minus)? For callers that strip digits one by one. */
bool digits_end(const struct digits *digits, uint64_t number);

/* digits_are_in() for each number from 0 to count - 1, as 1 or 0. */
void digits_table(const struct digits *digits, uint8_t *table, uint32_t count);
