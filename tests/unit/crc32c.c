/* CRC-32C: known values by table and by instruction, and both equal for every length and division. */
#include "schemas/crc32c.h"

#include <criterion/criterion.h>
#include <string.h>

static uint8_t bytes[5000];

static void fill(void)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
}

TestSuite(crc32c, .init = fill);

Test(crc32c, has_the_known_values)
{
	/* RFC 3720 B.4, and one long enough for the interleaved strips, computed bit by bit in another
	 * language. */
	uint8_t zeros[32] = {0}, ones[32], rising[32];
	memset(ones, 0xff, sizeof(ones));
	for (unsigned i = 0; i < sizeof(rising); i++)
		rising[i] = (uint8_t)i;
	const struct {
		const void *at;
		size_t      size;
		uint32_t    want;
	} rows[] = {{"", 0, 0},
	            {"123456789", 9, 0xe3069283},
	            {zeros, 32, 0x8a9136aa},
	            {ones, 32, 0x62a8ab43},
	            {rising, 32, 0x46dd794e},
	            {bytes, sizeof(bytes), 0x6664de70}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(crc32c(0, rows[i].at, rows[i].size), rows[i].want, "row %zu", i);
		cr_expect_eq(crc32c_by_table(0, rows[i].at, rows[i].size), rows[i].want, "table, row %zu", i);
	}
}

Test(crc32c, is_equal_by_table_and_instruction)
{
	for (size_t size = 0; size < 2500; size++)
		cr_assert_eq(crc32c(1, bytes + size % 9, size), crc32c_by_table(1, bytes + size % 9, size),
		             "size %zu", size);
}

Test(crc32c, can_be_computed_in_pieces)
{
	uint32_t whole = crc32c(0, bytes, sizeof(bytes));
	for (size_t cut = 0; cut <= sizeof(bytes); cut += 61)
		cr_assert_eq(crc32c(crc32c(0, bytes, cut), bytes + cut, sizeof(bytes) - cut), whole,
		             "cut %zu", cut);
}
