/* The identity file: its exact text, and that no other text passes for one. */
#include "schemas/identity.h"
#include "schemas/crc32c.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define LINEAGE "lineage=000102030405060708090a0b0c0d0e0f\n"
#define NONE    "earlier=\n"
#define ONE     "000102030405060708090a0b0c0d0e0f"
#define TEXT                                                \
	"stampede-data=3\n" LINEAGE "earlier=" ONE ONE "\n" \
	"shards=4\nformatted=1\ncrc=18cff89f\n"

static const struct identity identity = {
    .lineage = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    .earlier = {.count = 2,
                .of = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}},
    .shards = 4,
    .state = IDENTITY_WHOLE};

Test(identity, writes_this_text)
{
	struct buffer text = {0};
	identity_write(&identity, &text);
	cr_expect(span_is(buffer_span(&text), TEXT), "%.*s", (int)text.size, text.at);
	buffer_free(&text);
}

Test(identity, reads_as_it_was_written)
{
	struct identity got;
	cr_assert_eq(identity_read(span_str(TEXT), &got), OK);
	cr_expect_arr_eq(got.lineage, identity.lineage, sizeof(got.lineage));
	cr_expect_eq(got.earlier.count, 2);
	cr_expect_arr_eq(got.earlier.of, identity.earlier.of, 2 * LINEAGE_BYTES);
	cr_expect_eq(got.shards, 4);
	cr_expect_eq(got.state, IDENTITY_WHOLE);
}

Test(identity, is_damaged_by_any_other_byte)
{
	const size_t size = sizeof(TEXT) - 1;
	for (size_t i = 0; i < size; i++) {
		struct identity got;
		char            text[sizeof(TEXT)];
		memcpy(text, TEXT, sizeof(TEXT));
		text[i] ^= 1;
		cr_expect_eq(identity_read(span_str(text), &got), ERR_DAMAGED, "byte %zu", i);
		cr_expect_eq(identity_read(span_of(TEXT, i), &got), ERR_DAMAGED, "cut at %zu", i);
	}
	struct identity got;
	cr_expect_eq(identity_read(span_str(TEXT "\n"), &got), ERR_DAMAGED);
}

/* The sum is right in all of these. */
Test(identity, refuses_other_contents)
{
	static const struct {
		const char *lines;
		enum err    want;
	} rows[] = {
	    {"stampede-data=3\n" LINEAGE NONE "shards=64\nformatted=0\n", OK},
	    {"stampede-data=3\n" LINEAGE NONE "shards=1\nformatted=2\n", OK},
	    {"stampede-data=3\n" LINEAGE "earlier=" ONE "\nshards=1\nformatted=2\n", OK},
	    {"stampede-data=3\n" LINEAGE "earlier=0" ONE "\nshards=1\nformatted=2\n", ERR_DAMAGED},
	    {"stampede-data=3\n" LINEAGE "earlier=" ONE "00\nshards=1\nformatted=2\n", ERR_DAMAGED},
	    {"stampede-data=3\n" LINEAGE "earlier=none\nshards=1\nformatted=2\n", ERR_DAMAGED},
	    {"stampede-data=3\n" LINEAGE "shards=1\nformatted=2\n", ERR_DAMAGED},
	    {"stampede-data=2\n" LINEAGE NONE "shards=4\nformatted=1\n", ERR_UNSUPPORTED},
	    {"stampede-data=4\nanything=else\n", ERR_UNSUPPORTED},
	    {"stampede-data=one\n" LINEAGE NONE "shards=1\nformatted=0\n", ERR_DAMAGED},
	    {"stampede-data=3\n" LINEAGE NONE "shards=0\nformatted=0\n", ERR_DAMAGED},
	    {"stampede-data=3\n" LINEAGE NONE "shards=65\nformatted=0\n", ERR_DAMAGED},
	    {"stampede-data=3\n" LINEAGE NONE "shards=04\nformatted=0\n", ERR_DAMAGED},
	    {"stampede-data=3\n" LINEAGE NONE "shards=4294967297\nformatted=0\n", ERR_DAMAGED},
	    {"stampede-data=3\n" LINEAGE NONE "shards=4\nformatted=3\n", ERR_DAMAGED},
	    {"stampede-data=3\n" LINEAGE NONE "formatted=1\nshards=4\n", ERR_DAMAGED},
	    {"stampede-data=3\nlineage=00\nearlier=\nshards=4\nformatted=1\n", ERR_DAMAGED},
	    {"stampede-data=3\n" LINEAGE NONE "shards=4\nformatted=1\nmore=1\n", ERR_DAMAGED},
	    {"", ERR_DAMAGED},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct identity got;
		char            text[256];
		uint32_t        sum = crc32c(0, rows[i].lines, strlen(rows[i].lines));
		snprintf(text, sizeof(text), "%scrc=%08x\n", rows[i].lines, sum);
		cr_expect_eq(identity_read(span_str(text), &got), rows[i].want, "row %zu", i);
	}
}
