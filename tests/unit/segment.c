/* Segment files: complete and of this shard, or refused. */
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "schemas/crc32c.h"
#include "store/record.h"
#include "store/segment.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 52, VERSION_AT = 8, CRC_AT = 48 };

static struct test_dir    test_dir;
static struct journal_dir dir;

static void begin(void)
{
	test_dir_make(&test_dir);
	dir = (struct journal_dir){
	    .fd = test_dir.fd, .shard = 3, .lineage = {1, 2, 3}, .segment_bytes = 64 << 10};
}

static void end(void)
{
	test_dir_remove(&test_dir);
}

TestSuite(segment, .init = begin, .fini = end);

static void create(uint64_t number)
{
	cr_assert_eq(segment_create(&dir, number, NULL), OK);
}

static const char *name_of(uint64_t number)
{
	static char name[SEGMENT_NAME];
	segment_name(number, name);
	return name;
}

static enum err opens(const struct journal_dir *as, uint64_t number)
{
	int      fd = -1;
	uint64_t bytes = 0;
	enum err err = segment_open(as, number, &fd, &bytes);
	if (!err) cr_expect_eq(bytes, dir.segment_bytes);
	if (!err) close(fd);
	return err;
}

Test(segment, is_named_by_twenty_digits)
{
	cr_expect_str_eq(name_of(1), "00000000000000000001.seg");
	cr_expect_str_eq(name_of(UINT64_MAX), "18446744073709551615.seg");
}

Test(segment, begins_with_its_head_and_is_zeros)
{
	uint8_t *bytes;
	create(5);
	size_t size = file_read(&test_dir, name_of(5), &bytes);
	cr_assert_eq(size, dir.segment_bytes);
	cr_expect(!memcmp(bytes, "STMPJSEG", 8));
	cr_expect(get_le32(bytes + VERSION_AT) == 2 && get_le32(bytes + 12) == 3);
	cr_expect(!memcmp(bytes + 16, dir.lineage, 16));
	cr_expect(get_le64(bytes + 32) == 5 && get_le64(bytes + 40) == dir.segment_bytes);
	cr_expect_eq(get_le32(bytes + CRC_AT), crc32c(0, bytes, CRC_AT));
	for (size_t i = HEAD_BYTES; i < size; i++)
		cr_assert_eq(bytes[i], 0, "byte %zu", i);
	free(bytes);
	cr_expect_eq(opens(&dir, 5), OK);
	cr_expect_eq(opens(&dir, 6), ERR_NOT_FOUND);
}

Test(segment, of_any_size_is_created_completely)
{
	static const uint64_t sizes[] = {RECORD_ALIGN, 256 << 10, (256 << 10) + RECORD_ALIGN, 1 << 20};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		dir.segment_bytes = sizes[i];
		create(i + 1);
		cr_expect_eq(opens(&dir, i + 1), OK);
	}
}

/* The size is an option. A segment of another size is still valid. */
Test(segment, of_another_size_can_be_opened)
{
	struct journal_dir other = dir;
	create(1);
	other.segment_bytes *= 4;
	cr_expect_eq(opens(&other, 1), OK);
}

Test(segment, is_never_replaced)
{
	create(1);
	file_write(&test_dir, name_of(1), RECORD_ALIGN, span_str("mine"));
	cr_expect_eq(segment_create(&dir, 1, NULL), ERR_IO);
	uint8_t *bytes;
	(void)file_read(&test_dir, name_of(1), &bytes);
	cr_expect(!memcmp(bytes + RECORD_ALIGN, "mine", 4));
	free(bytes);
}

/* The unfinished name may be a second link to a segment in use, if it could not be removed. */
Test(segment, never_overwrites_another_one)
{
	uint8_t *bytes;
	create(1);
	file_write(&test_dir, name_of(1), RECORD_ALIGN, span_str("mine"));
	cr_assert_eq(linkat(test_dir.fd, name_of(1), test_dir.fd, "next.tmp", 0), 0);
	create(2);
	size_t size = file_read(&test_dir, name_of(1), &bytes);
	cr_expect(size == dir.segment_bytes && !memcmp(bytes + RECORD_ALIGN, "mine", 4));
	cr_expect_eq(get_le64(bytes + 32), 1);
	free(bytes);
	cr_expect_eq(opens(&dir, 1), OK);
	cr_expect_eq(opens(&dir, 2), OK);
}

Test(segment, of_another_shard_or_lineage_is_refused)
{
	struct journal_dir other = dir;
	create(1);
	other.shard = 4;
	cr_expect_eq(opens(&other, 1), ERR_NOT_MINE);
	other = dir;
	other.lineage[15] = 1;
	cr_expect_eq(opens(&other, 1), ERR_NOT_MINE);
}

Test(segment, under_another_number_is_refused)
{
	char from[SEGMENT_NAME];
	create(1);
	segment_name(1, from);
	cr_assert_eq(renameat(test_dir.fd, from, test_dir.fd, name_of(2)), 0);
	cr_expect_eq(opens(&dir, 2), ERR_NOT_MINE);
}

Test(segment, with_a_head_flipped_anywhere_is_refused)
{
	create(1);
	for (unsigned i = 0; i < HEAD_BYTES * 8; i++) {
		file_flip(&test_dir, name_of(1), i / 8, (uint8_t)(1 << i % 8));
		cr_expect_eq(opens(&dir, 1), ERR_DAMAGED, "bit %u", i);
		file_flip(&test_dir, name_of(1), i / 8, (uint8_t)(1 << i % 8));
	}
	cr_expect_eq(opens(&dir, 1), OK);
}

Test(segment, of_another_version_is_unsupported_only_if_intact)
{
	static const struct {
		uint8_t     flip;
		const char *why;
	} rows[] = {
	    {3,
	     "journal/00000000000000000001.seg has format version 1, this program knows 2: back up the data "
	     "directory with the program that wrote it, and restore that backup with this one"},
	    {1,
	     "journal/00000000000000000001.seg has format version 3, this program knows 2: use the program "
	     "that wrote it, or a newer one"}};
	uint8_t *bytes, crc[4];
	char     why[VERSION_TEXT];
	for (unsigned i = 0; i < 2; i++) {
		if (i) cr_assert_eq(segment_delete(&dir, 1), OK);
		create(1);
		cr_expect_eq(segment_judge_version(&dir, 1, why), OK);
		file_flip(&test_dir, name_of(1), VERSION_AT, rows[i].flip);
		cr_expect_eq(opens(&dir, 1), ERR_DAMAGED);
		cr_expect_eq(segment_judge_version(&dir, 1, why), OK);
		(void)file_read(&test_dir, name_of(1), &bytes);
		put_le32(crc, crc32c(0, bytes, CRC_AT));
		free(bytes);
		file_write(&test_dir, name_of(1), CRC_AT, span_of(crc, sizeof crc));
		cr_expect_eq(opens(&dir, 1), ERR_UNSUPPORTED);
		cr_expect_eq(segment_judge_version(&dir, 1, why), ERR_UNSUPPORTED);
		cr_expect_str_eq(why, rows[i].why);
	}
	cr_expect_eq(segment_judge_version(&dir, 2, why), OK); /* a missing one has no version */
}

Test(segment, cut_short_or_grown_is_refused)
{
	static const off_t sizes[] = {0, 1, HEAD_BYTES - 1, HEAD_BYTES, (64 << 10) - 1, (64 << 10) + 1};
	create(1);
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		int fd = openat(test_dir.fd, name_of(1), O_RDWR);
		cr_assert_eq(ftruncate(fd, 64 << 10), 0);
		cr_assert_eq(ftruncate(fd, sizes[i]), 0);
		close(fd);
		cr_expect_eq(opens(&dir, 1), ERR_DAMAGED, "%lld bytes", (long long)sizes[i]);
		cr_assert_eq(segment_delete(&dir, 1), OK);
		create(1);
	}
}

static void expect_range(enum err want, uint64_t first, uint64_t last)
{
	uint64_t got_first, got_last;
	cr_expect_eq(segment_range(&dir, &got_first, &got_last), want);
	if (!want) cr_expect(got_first == first && got_last == last);
}

Test(segment, numbers_must_have_no_gap)
{
	expect_range(OK, 0, 0);
	create(4);
	expect_range(OK, 4, 4);
	create(5);
	create(6);
	expect_range(OK, 4, 6);
	cr_assert_eq(segment_delete(&dir, 5), OK);
	expect_range(ERR_DAMAGED, 0, 0);
	cr_assert_eq(segment_delete(&dir, 4), OK);
	expect_range(OK, 6, 6);
	cr_expect_eq(segment_delete(&dir, 4), ERR_IO);
}

Test(segment, other_files_are_ignored)
{
	static const char *const names[] = {"00000000000000000000.seg", "0000000000000000009.seg",
	                                    "00000000000000000009.sex", "x0000000000000000009.seg",
	                                    "0000000000000000000x.seg", "lock"};
	create(1);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		file_write(&test_dir, names[i], 0, span_str("x"));
	expect_range(OK, 1, 1);
}

Test(segment, unfinished_is_removed_by_the_next)
{
	struct stat st;
	create(1);
	file_write(&test_dir, "next.tmp", 0, span_str("half"));
	expect_range(OK, 1, 1);
	cr_expect_eq(fstatat(test_dir.fd, "next.tmp", &st, 0), 0, "a refused start changes nothing");
	create(2);
	cr_expect_neq(fstatat(test_dir.fd, "next.tmp", &st, 0), 0);
	cr_expect_eq(opens(&dir, 2), OK);
}
