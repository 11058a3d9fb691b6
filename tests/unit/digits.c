/* schemas/digits.h: the same result as writing the number and searching the digits. */
#include "schemas/digits.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

static const char *const sought[] = {"0",
                                     "7",
                                     "00",
                                     "05",
                                     "10",
                                     "42",
                                     "500",
                                     "007",
                                     "9223372036854775807",
                                     "99999",
                                     "-",
                                     "-1",
                                     "-0",
                                     "-9",
                                     "-42",
                                     "-922",
                                     "--",
                                     "1-",
                                     "9223372036854775808",
                                     "-9223372036854775808",
                                     "12345678901234567890",
                                     "1",
                                     "54775"};

static void agrees(const char *what, int64_t number)
{
	char          text[32];
	struct digits digits = digits_read(span_str(what));
	snprintf(text, sizeof text, "%" PRId64, number);
	cr_expect_eq(digits_are_in(&digits, number), strstr(text, what) != NULL, "%s in %s", what, text);
}

Test(digits, are_found_as_in_the_written_number)
{
	static const int64_t numbers[] = {0,   7,    10,        100,       105,          -1,
	                                  -10, -420, INT64_MAX, INT64_MIN, INT64_MIN + 1};
	uint64_t             state = chance_begin();
	for (unsigned i = 0; i < sizeof sought / sizeof *sought; i++) {
		for (unsigned k = 0; k < sizeof numbers / sizeof *numbers; k++)
			agrees(sought[i], numbers[k]);
		for (int64_t number = -1200; number < 12000; number++)
			agrees(sought[i], number);
		for (unsigned k = 0; k < 2000; k++)
			agrees(sought[i], (int64_t)chance(&state) >> chance_below(&state, 64));
	}
}

Test(digits, make_a_table_of_small_numbers)
{
	enum { COUNT_MAX = 123456 };
	static const uint32_t counts[] = {1, 10, 11, 1000, 12345, COUNT_MAX};
	static uint8_t        table[COUNT_MAX];
	for (unsigned i = 0; i < sizeof sought / sizeof *sought * 6; i++) {
		const char   *what = sought[i / 6];
		struct digits digits = digits_read(span_str(what));
		uint32_t      count = counts[i % 6];
		memset(table, 0xaa, sizeof table);
		digits_table(&digits, table, count);
		if (count < COUNT_MAX) cr_assert_eq(table[count], 0xaa, "nothing is written behind the end");
		for (int64_t number = 0; number < count; number++)
			cr_assert_eq(table[number], digits_are_in(&digits, number), "%s in %" PRId64, what,
			             number);
	}
}

Test(digits, empty_digits_are_in_every_number)
{
	struct digits digits = digits_read(span_of(NULL, 0));
	cr_expect(digits_are_in(&digits, 0) && digits_are_in(&digits, -5));
}
