/* The backup's manifest: its exact text, and the refusal of every other text. */
#include "schemas/backup.h"
#include "schemas/lines.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define LINEAGE "lineage=000102030405060708090a0b0c0d0e0f\n"
#define EARLIER "earlier=0a000000000000000000000000000000\n"
#define ZEROS   "0000000000000000000000000000000000000000000000000000000000000"
#define HEAD    "stampede-backup=3\n" LINEAGE EARLIER "shards=2\nplacement=1\nmaster_key=0102030405060708\n"
#define SHARDS                                                                              \
	"shard.0.seq=7\nshard.0.epoch=3\nshard.0.bytes=4096\nshard.0.sha256=aa0" ZEROS "\n" \
	"shard.1.seq=18446744073709551615\nshard.1.epoch=1\nshard.1.bytes=0\nshard.1.sha256=bb0" ZEROS "\n"
#define BODY HEAD "created=2026-11-21T03:04:05.678Z\n" SHARDS

static const struct backup backup = {
    .lineage = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    .earlier = {.count = 1, .of = {{10}}},
    .shards = 2,
    .key_id = {1, 2, 3, 4, 5, 6, 7, 8},
    .created = {INT64_C(1795230245678000)},
    .of = {{.seq = 7, .epoch = 3, .bytes = 4096, .sha256 = {0xaa}},
           {.seq = UINT64_MAX, .epoch = 1, .bytes = 0, .sha256 = {0xbb}}},
};

static enum err read_with_sum(const char *lines, struct backup *got)
{
	struct buffer text = {0};
	buffer_text(&text, lines);
	lines_end(&text);
	enum err err = backup_read(buffer_span(&text), got);
	buffer_free(&text);
	return err;
}

Test(backup, writes_this_text)
{
	struct buffer text = {0}, want = {0};
	backup_write(&backup, &text);
	buffer_text(&want, BODY);
	lines_end(&want);
	cr_expect(span_equal(buffer_span(&text), buffer_span(&want)), "%.*s", (int)text.size, text.at);
	buffer_free(&text);
	buffer_free(&want);
}

Test(backup, reads_as_it_was_written)
{
	static struct backup got;
	struct buffer        text = {0};
	backup_write(&backup, &text);
	cr_assert_eq(backup_read(buffer_span(&text), &got), OK);
	cr_expect_eq(memcmp(&got, &backup, sizeof got), 0);
	buffer_free(&text);
}

Test(backup, refuses_any_changed_byte_and_any_cut)
{
	static struct backup got;
	struct buffer        text = {0};
	backup_write(&backup, &text);
	for (size_t i = 0; i < text.size; i++) {
		text.at[i] ^= 1;
		cr_expect_eq(backup_read(buffer_span(&text), &got), ERR_DAMAGED, "byte %zu", i);
		text.at[i] ^= 1;
		cr_expect_eq(backup_read(span_of(text.at, i), &got), ERR_DAMAGED, "cut at %zu", i);
	}
	buffer_byte(&text, '\n');
	cr_expect_eq(backup_read(buffer_span(&text), &got), ERR_DAMAGED);
	buffer_free(&text);
}

/* The checksum is valid in all of these. */
Test(backup, refuses_other_contents)
{
	static const struct {
		const char *lines;
		enum err    want;
	} rows[] = {
	    {BODY, OK},
	    {"stampede-backup=2\nanything=else\n", ERR_UNSUPPORTED},
	    {"stampede-backup=4\nanything=else\n", ERR_UNSUPPORTED},
	    {"stampede-data=2\n" LINEAGE EARLIER "shards=4\nformatted=1\n", ERR_DAMAGED},
	    {HEAD SHARDS, ERR_DAMAGED},
	    {HEAD "created=yesterday\n" SHARDS, ERR_DAMAGED},
	    {BODY "shard.2.seq=1\n", ERR_DAMAGED},
	    {"stampede-backup=3\n" LINEAGE EARLIER "shards=0\nplacement=1\nmaster_key=0102030405060708\n"
	     "created=2026-11-21T03:04:05.678Z\n",
	     ERR_DAMAGED},
	    {"stampede-backup=3\n" LINEAGE EARLIER "shards=65\nplacement=1\nmaster_key=0102030405060708\n"
	     "created=2026-11-21T03:04:05.678Z\n",
	     ERR_DAMAGED},
	    {"stampede-backup=3\n" LINEAGE EARLIER "shards=2\nplacement=2\nmaster_key=0102030405060708\n"
	     "created=2026-11-21T03:04:05.678Z\n" SHARDS,
	     ERR_UNSUPPORTED},
	    {"stampede-backup=3\n" LINEAGE EARLIER "shards=2\nplacement=1\nmaster_key=01020304050607\n"
	     "created=2026-11-21T03:04:05.678Z\n" SHARDS,
	     ERR_DAMAGED},
	    {"", ERR_DAMAGED},
	};
	static struct backup got;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(read_with_sum(rows[i].lines, &got), rows[i].want, "row %zu", i);
}

Test(backup, of_another_version_is_refused_by_its_number)
{
	static const struct {
		const char *lines, *why;
	} rows[] = {
	    {"stampede-backup=2\nanything=else\n",
	     "The backup's manifest has format version 2, this program knows 3: "
	     "restore this backup with the program that wrote it"},
	    {"stampede-backup=4\nanything=else\n",
	     "The backup's manifest has format version 4, this program knows 3: "
	     "use the program that wrote it, or a newer one"},
	    {BODY, "The backup's manifest places accounts by a rule that this program does not know: restore "
	           "it with the "
	           "program that wrote it"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buffer text = {0};
		char          why[VERSION_TEXT];
		buffer_text(&text, rows[i].lines);
		lines_end(&text);
		backup_refusal(buffer_span(&text), why);
		cr_expect_str_eq(why, rows[i].why);
		buffer_free(&text);
	}
}

Test(backup, holds_the_highest_number_of_shards)
{
	static struct backup all, got;
	struct buffer        text = {0};
	all = backup;
	all.shards = SHARDS_MAX;
	for (uint32_t i = 0; i < SHARDS_MAX; i++)
		all.of[i] = (struct backup_shard){UINT64_MAX, UINT64_MAX, INT64_MAX, {0}};
	backup_write(&all, &text);
	cr_expect_leq(text.size, BACKUP_MANIFEST_BYTES_MAX);
	cr_expect_eq(backup_read(buffer_span(&text), &got), OK);
	cr_expect_eq(memcmp(&got, &all, sizeof got), 0);
	buffer_free(&text);
}

Test(lines, accepts_numbers_only_in_their_written_form)
{
	static const struct {
		const char *text;
		bool        want;
		uint64_t    value;
	} rows[] = {
	    {"n=0\n", true, 0},
	    {"n=18446744073709551615\n", true, UINT64_MAX},
	    {"n=18446744073709551616\n", false, 0},
	    {"n=99999999999999999999999\n", false, 0},
	    {"n=01\n", false, 0},
	    {"n=+1\n", false, 0},
	    {"n=-1\n", false, 0},
	    {"n=\n", false, 0},
	    {"n=1 \n", false, 0},
	    {"n=1", false, 0},
	    {"m=1\n", false, 0},
	    {"nn=1\n", false, 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct lines lines = {.left = span_str(rows[i].text)};
		uint64_t     got = lines_take_number(&lines, "n");
		cr_expect_eq(got, rows[i].value, "%s", rows[i].text);
		cr_expect_eq(lines_finish(&lines), rows[i].want ? OK : ERR_DAMAGED, "%s", rows[i].text);
	}
}
