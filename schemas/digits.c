/* Digits in numbers, by arithmetic: a number holds them if it ends with them, or holds them without its last digit. */
#include "schemas/digits.h"

enum { DIGITS_MAX = 19 }; /* of a number of 63 bits */

struct digits digits_read(struct span what)
{
	struct digits digits = {.negative = what.size && what.at[0] == '-', .power = 1};
	for (size_t i = digits.negative; i < what.size; i++) {
		if (what.at[i] < '0' || what.at[i] > '9' || digits.count == DIGITS_MAX) return digits;
		digits.value = 10 * digits.value + (uint64_t)(what.at[i] - '0');
		digits.power *= 10;
		digits.count++;
	}
	digits.possible = true;
	return digits;
}

/* Numbers do not begin with 0, so one with too few digits is below a tenth of the power. */
static bool ends_with(const struct digits *digits, uint64_t number)
{
	return number % digits->power == digits->value &&
	       (number >= digits->power / 10 || digits->count == 1);
}

static bool begins_with(const struct digits *digits, uint64_t number)
{
	while (number >= digits->power)
		number /= 10;
	return ends_with(digits, number) && number > 0;
}

bool digits_are_in(const struct digits *digits, int64_t number)
{
	uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	if (!digits->possible || (digits->negative && number >= 0)) return false;
	if (digits->count == 0) return true;
	if (digits->negative) return begins_with(digits, left);
	while (!ends_with(digits, left)) {
		left /= 10;
		if (left == 0) return false;
	}
	return true;
}

void digits_table(const struct digits *digits, uint8_t *table, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		table[i] = i < 10 ? digits_are_in(digits, i)
		                  : table[i / 10] ||
		                        (!digits->negative && digits->possible && ends_with(digits, i));
}
