/* The identity file: its exact text, the refusal of every other text, and the id of a key. */
#include "schemas/identity.h"
#include "schemas/crc32c.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define LINEAGE "lineage=000102030405060708090a0b0c0d0e0f\n"
#define NONE    "earlier=\n"
#define ONE     "000102030405060708090a0b0c0d0e0f"
#define KEY     "master_key=0102030405060708\n"
#define TEXT    "stampede-data=7\n" LINEAGE "earlier=" ONE ONE "\n" KEY "shards=4\nformatted=1\ncrc=e93bfd44\n"

static const struct identity identity = {
    .lineage = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    .earlier = {.count = 2,
                .of = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}},
    .key_id = {1, 2, 3, 4, 5, 6, 7, 8},
    .shards = 4,
    .state = IDENTITY_WHOLE};

Test(identity, writes_this_text)
{
	struct buffer text = {0};
	identity_write(&identity, &text);
	cr_expect(span_is(buffer_span(&text), TEXT), "%.*s", (int)text.size, text.at);
	buffer_free(&text);
}

static void expect_all_but_the_key(const struct identity *got)
{
	cr_expect_arr_eq(got->lineage, identity.lineage, sizeof(got->lineage));
	cr_expect_eq(got->earlier.count, 2);
	cr_expect_arr_eq(got->earlier.of, identity.earlier.of, 2 * LINEAGE_BYTES);
	cr_expect_eq(got->shards, 4);
	cr_expect_eq(got->state, IDENTITY_WHOLE);
}

Test(identity, reads_as_it_was_written)
{
	struct identity got;
	cr_assert_eq(identity_read(span_str(TEXT), &got), OK);
	expect_all_but_the_key(&got);
	cr_expect_arr_eq(got.key_id, identity.key_id, sizeof got.key_id);
}

/* They have the same lines. */
Test(identity, of_the_versions_before_is_read)
{
	static const char *const texts[] = {
	    "stampede-data=5\n" LINEAGE "earlier=" ONE ONE "\n" KEY "shards=4\nformatted=1\ncrc=57725288\n",
	    "stampede-data=6\n" LINEAGE "earlier=" ONE ONE "\n" KEY "shards=4\nformatted=1\ncrc=b61f2aa2\n"};
	struct identity got;
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(identity_read(span_str(texts[i]), &got), OK);
		cr_expect_eq(got.version, 5 + i);
		expect_all_but_the_key(&got);
	}
	cr_expect(!identity_read(span_str(TEXT), &got) && got.version == IDENTITY_VERSION);
}

/* As version 4 was written. */
Test(identity, of_another_version_is_refused_by_its_number)
{
	static const char text[] = "stampede-data=4\n" LINEAGE "earlier=" ONE ONE "\n" KEY
	                           "shards=4\nformatted=1\ncrc=0856856e\n";
	struct identity got;
	char            why[VERSION_TEXT];
	cr_expect_eq(identity_read(span_str(text), &got), ERR_UNSUPPORTED);
	identity_refusal(span_str(text), why);
	cr_expect_str_eq(
	    why, "identity has format version 4, this program knows 7: back up the data directory with the "
	         "program that wrote it, and restore that backup with this one");
}

static void expect_damaged_by_any_other_byte(struct span right)
{
	struct identity got;
	char            text[512];
	for (size_t i = 0; i < right.size; i++) {
		memcpy(text, right.at, right.size);
		text[i] ^= 1;
		cr_expect_eq(identity_read(span_of(text, right.size), &got), ERR_DAMAGED, "byte %zu", i);
		cr_expect_eq(identity_read(span_of(right.at, i), &got), ERR_DAMAGED, "cut at %zu", i);
	}
	memcpy(text, right.at, right.size);
	text[right.size] = '\n';
	cr_expect_eq(identity_read(span_of(text, right.size + 1), &got), ERR_DAMAGED);
}

Test(identity, refuses_any_changed_byte)
{
	expect_damaged_by_any_other_byte(span_str(TEXT));
}

/* The checksum is valid in all of these. */
Test(identity, refuses_other_contents)
{
	static const struct {
		const char *lines;
		enum err    want;
	} rows[] = {
	    {"stampede-data=7\n" LINEAGE NONE KEY "shards=64\nformatted=0\n", OK},
	    {"stampede-data=7\n" LINEAGE NONE KEY "shards=1\nformatted=2\n", OK},
	    {"stampede-data=7\n" LINEAGE "earlier=" ONE "\n" KEY "shards=1\nformatted=2\n", OK},
	    {"stampede-data=7\n" LINEAGE "earlier=0" ONE "\n" KEY "shards=1\nformatted=2\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE "earlier=" ONE "00\n" KEY "shards=1\nformatted=2\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE "earlier=none\n" KEY "shards=1\nformatted=2\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE KEY "shards=1\nformatted=2\n", ERR_DAMAGED},
	    {"stampede-data=2\n" LINEAGE NONE KEY "shards=4\nformatted=1\n", ERR_UNSUPPORTED},
	    {"stampede-data=8\nanything=else\n", ERR_UNSUPPORTED},
	    {"stampede-data=one\n" LINEAGE NONE KEY "shards=1\nformatted=0\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE KEY "shards=0\nformatted=0\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE KEY "shards=65\nformatted=0\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE KEY "shards=04\nformatted=0\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE KEY "shards=4294967297\nformatted=0\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE KEY "shards=4\nformatted=3\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE KEY "formatted=1\nshards=4\n", ERR_DAMAGED},
	    {"stampede-data=7\nlineage=00\nearlier=\n" KEY "shards=4\nformatted=1\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE KEY "shards=4\nformatted=1\nmore=1\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE "shards=4\nformatted=1\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE "master_key=\nshards=4\nformatted=1\n", ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE "master_key=010203040506070809\nshards=4\nformatted=1\n",
	     ERR_DAMAGED},
	    {"stampede-data=7\n" LINEAGE NONE "shards=4\n" KEY "formatted=1\n", ERR_DAMAGED},
	    {"stampede-data=4\n" LINEAGE NONE KEY "shards=64\nformatted=2\n", ERR_UNSUPPORTED},
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

/* From another program: printf '%032d' 0 | sha256sum, of 32 bytes '0'. */
Test(identity, names_a_key_by_the_first_bytes_of_its_hash)
{
	static const uint8_t want[MASTER_KEY_ID] = {0x84, 0xe0, 0xc0, 0xea, 0xfa, 0xa9, 0x5a, 0x34};
	uint8_t              key[32], id[MASTER_KEY_ID];
	memset(key, '0', sizeof key);
	master_key_id(key, id);
	cr_expect_arr_eq(id, want, sizeof id, "%02x%02x%02x%02x%02x%02x%02x%02x", id[0], id[1], id[2], id[3],
	                 id[4], id[5], id[6], id[7]);
}
