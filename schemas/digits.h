#pragma once
#include "schemas/span.h"

#include <stdint.h>

/* Looking for a few characters in whole numbers as they are written in decimal, without writing them. */
struct digits {
	bool     possible;     /* is there a number that could hold them? */
	bool     negative;     /* they begin with a minus */
	unsigned count;        /* of digits */
	uint64_t value, power; /* what the digits say; 10 to the power of `count` */
};

struct digits digits_read(struct span what);
bool          digits_are_in(const struct digits *digits, int64_t number);

/* Is it what a number ends with, digits without a minus? For who takes its digits off one after the other. */
bool digits_end(const struct digits *digits, uint64_t number);

/* digits_are_in() for each number from 0 to count - 1: 1 or 0. */
void digits_table(const struct digits *digits, uint8_t *table, uint32_t count);
