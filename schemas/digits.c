/* Digits in numbers, by arithmetic: a number contains them if it ends with them, or contains them without its last
 * digit. */
#include "schemas/digits.h"

#include <string.h>

enum { DIGITS_MAX = 19 }; /* of a 63-bit number */

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

/* A number has no leading 0, so one with too few digits is below a tenth of the power. */
bool digits_end(const struct digits *digits, uint64_t number)
{
	return number % digits->power == digits->value &&
	       (number >= digits->power / 10 || digits->count == 1);
}

static bool begins_with(const struct digits *digits, uint64_t number)
{
	while (number >= digits->power)
		number /= 10;
	return digits_end(digits, number) && number > 0;
}

bool digits_are_in(const struct digits *digits, int64_t number)
{
	uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	if (!digits->possible || (digits->negative && number >= 0)) return false;
	if (digits->count == 0) return true;
	if (digits->negative) return begins_with(digits, left);
	while (!digits_end(digits, left)) {
		left /= 10;
		if (left == 0) return false;
	}
	return true;
}

/* Fills the numbers with one digit more than those below `from`, which are filled: a number matches without its last
 * digit, or by its end. */
static void table_level(const struct digits *digits, uint8_t *table, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i += 10)
		memset(table + i, table[i / 10], to - i < 10 ? to - i : 10);
	if (digits->negative || !digits->possible) return;
	uint64_t first = from / digits->power * digits->power + digits->value;
	for (uint64_t i = first < from ? first + digits->power : first; i < to; i += digits->power)
		table[i] |= digits_end(digits, i);
}

void digits_table(const struct digits *digits, uint8_t *table, uint32_t count)
{
	for (uint32_t i = 0; i < 10 && i < count; i++)
		table[i] = digits_are_in(digits, i);
	for (uint64_t from = 10; from < count; from *= 10)
		table_level(digits, table, (uint32_t)from, from * 10 < count ? (uint32_t)from * 10 : count);
}
