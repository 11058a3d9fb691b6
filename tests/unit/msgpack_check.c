/* The check before the msgpack library: accepted and refused bytes, and no read beyond the end. */
#include "schemas/msgpack_check.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static enum err check(const char *bytes, size_t size)
{
	/* An exact copy, so that a sanitizer detects a read beyond its end. */
	uint8_t *copy = malloc(size ? size : 1);
	memcpy(copy, bytes, size);
	enum err err = msgpack_check(span_of(copy, size), 4, 16);
	free(copy);
	return err;
}

struct row {
	const char *bytes;
	size_t      size;
};
#define B(text)                        \
	{                              \
		text, sizeof(text) - 1 \
	}

Test(msgpack_check, accepts_every_valid_form)
{
	static const struct row rows[] = {
	    B("\x00"),
	    B("\x7f"),
	    B("\xe0"),
	    B("\xff"),
	    B("\xc0"),
	    B("\xc2"),
	    B("\xc3"),
	    B("\x80"),
	    B("\x81\x01\x02"),
	    B("\x90"),
	    B("\x92\x01\x02"),
	    B("\xa0"),
	    B("\xa1k"),
	    B("\xc4\x01x"),
	    B("\xc5\x00\x01x"),
	    B("\xc6\x00\x00\x00\x01x"),
	    B("\xca\x00\x00\x00\x00"),
	    B("\xcb\x00\x00\x00\x00\x00\x00\x00\x00"),
	    B("\xcc\x00"),
	    B("\xcd\x00\x00"),
	    B("\xce\x00\x00\x00\x00"),
	    B("\xcf\x00\x00\x00\x00\x00\x00\x00\x00"),
	    B("\xd0\x00"),
	    B("\xd1\x00\x00"),
	    B("\xd2\x00\x00\x00\x00"),
	    B("\xd3\x00\x00\x00\x00\x00\x00\x00\x00"),
	    B("\xd9\x01x"),
	    B("\xda\x00\x01x"),
	    B("\xdb\x00\x00\x00\x01x"),
	    B("\xdc\x00\x01\x01"),
	    B("\xdd\x00\x00\x00\x01\x01"),
	    B("\xde\x00\x01\x01\x01"),
	    B("\xdf\x00\x00\x00\x01\x01\x01"),
	    B("\x92\x91\x81\xa1k\x90\x01"),
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(check(rows[i].bytes, rows[i].size), OK, "row %zu", i);
		for (size_t cut = 0; cut < rows[i].size; cut++)
			cr_expect_eq(check(rows[i].bytes, cut), ERR_MALFORMED, "row %zu cut at %zu", i, cut);
	}
}

Test(msgpack_check, refuses_bombs_exts_and_leftovers)
{
	static const struct row rows[] = {
	    B("\xdd\x10\x00\x00\x00"), /* declares more bytes than there are */
	    B("\xdd\xff\xff\xff\xff\x01"),
	    B("\xdf\xff\xff\xff\xff\x01\x01"),
	    B("\xdf\x80\x00\x00\x00\x01"), /* twice this number overflows 32 bits */
	    B("\xdb\xff\xff\xff\xff"),
	    B("\x92\x01"),
	    B("\x81\x01"),
	    B("\x91\x91"),
	    B("\x01\x02"), /* bytes after the value */
	    B("\x90\x00"),
	    B("\xc1"),
	    B("\xc7\x00\x01"),
	    B("\xc8\x00\x00\x01"),
	    B("\xc9\x00\x00\x00\x00\x01"),
	    B("\xd4\x01\x02"),
	    B("\xd5\x01\x02\x03"),
	    B("\xd8\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(check(rows[i].bytes, rows[i].size), ERR_MALFORMED, "row %zu", i);
}

Test(msgpack_check, counts_depth_and_items)
{
	cr_expect_eq(check("\x91\x91\x91\x91\x01", 5), OK);
	cr_expect_eq(check("\x91\x91\x91\x91\x91\x01", 6), ERR_MALFORMED);
	cr_expect_eq(check("\x9f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16), OK);
	cr_expect_eq(check("\xdc\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 19), ERR_MALFORMED);
}

Test(msgpack_check, handles_any_bytes)
{
	unsigned seed = 20261120;
	for (int round = 0; round < 200000; round++) {
		char   bytes[24];
		size_t size = (size_t)rand_r(&seed) % sizeof(bytes);
		for (size_t i = 0; i < size; i++)
			bytes[i] = (char)rand_r(&seed);
		(void)!check(bytes, size);
	}
}
