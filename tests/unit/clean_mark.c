/* The clean-shutdown marker beside the tables. It is trusted for one file during one boot, or after a clean
 * shutdown; otherwise the tables are rebuilt from the journal. */
#include "tests/unit/support.h"

#include "schemas/crc32c.h"
#include "store/clean_mark.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 20, SIZE = 3000, SMALL = 40 /* adjacent to its key */ };

static struct test_dir     test_dir;
static struct store       *store;
static struct store_report report;

static void begin(void)
{
	test_dir_make(&test_dir);
}

static void end(void)
{
	store_close(&store);
	test_dir_remove(&test_dir);
}

TestSuite(clean_mark, .init = begin, .fini = end);

static bool is_trusted(void)
{
	bool            present;
	enum clean_mark trust;
	cr_assert_eq(clean_mark_read(test_dir.fd, &present, &trust), OK);
	cr_expect(present || trust == CLEAN_MARK_NONE);
	return trust != CLEAN_MARK_NONE;
}

static void furnish(void)
{
	cr_assert_eq(mkdirat(test_dir.fd, "db", 0700), 0);
	file_write(&test_dir, "db/data.mdb", 0, span_str("tables"));
}

/* Replaces `from` in the marker by `to` of the same length, and corrects the checksum. */
static void forge(const char *from, const char *to)
{
	char     crc[9];
	uint8_t *text;
	size_t   size = file_read(&test_dir, "trust", &text);
	uint8_t *at = memmem(text, size, from, strlen(from)), *sum = memmem(text, size, " crc=", 5);
	cr_assert(at && sum);
	memcpy(at, to, strlen(to));
	snprintf(crc, sizeof crc, "%08x", crc32c(0, text, (size_t)(sum - text)));
	memcpy(sum + 5, crc, 8);
	file_write(&test_dir, "trust", 0, span_of(text, size));
	free(text);
}

/* As after a power failure: the marker names an earlier boot. */
static void reboot(void)
{
	char     was[64], boot[] = "boot=00000000-0000-0000-0000-000000000000";
	uint8_t *text;
	size_t   size = file_read(&test_dir, "trust", &text);
	uint8_t *at = memmem(text, size, "boot=", 5);
	cr_assert_not_null(at);
	snprintf(was, sizeof was, "%.41s", (const char *)at);
	free(text);
	forge(was, boot);
}

Test(clean_mark, is_given_to_marked_tables_only)
{
	bool            present;
	enum clean_mark trust;
	cr_assert_eq(clean_mark_read(test_dir.fd, &present, &trust), OK);
	cr_expect(!present && trust == CLEAN_MARK_NONE);
	furnish();
	cr_expect_not(is_trusted());
	cr_assert_eq(clean_mark_write(test_dir.fd, false), OK);
	cr_expect(is_trusted());
	cr_assert_eq(clean_mark_write(test_dir.fd, true), OK);
	cr_expect(is_trusted());
}

Test(clean_mark, names_the_boot_it_is_of)
{
	char     boot[37] = {0};
	uint8_t *text;
	int      fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
	cr_assert_eq(read(fd, boot, 36), 36);
	close(fd);
	furnish();
	cr_assert_eq(clean_mark_write(test_dir.fd, false), OK);
	size_t size = file_read(&test_dir, "trust", &text);
	cr_expect_not_null(memmem(text, size, boot, 36));
	free(text);
}

Test(clean_mark, creates_the_file)
{
	struct stat st;
	cr_assert_eq(mkdirat(test_dir.fd, "db", 0700), 0);
	cr_assert_eq(clean_mark_write(test_dir.fd, false), OK);
	cr_assert_eq(fstatat(test_dir.fd, "db/data.mdb", &st, 0), 0);
	cr_expect_eq(st.st_size, 0);
	cr_expect(is_trusted());
}

Test(clean_mark, ends_with_the_boot_unless_clean)
{
	furnish();
	cr_assert_eq(clean_mark_write(test_dir.fd, false), OK);
	reboot();
	cr_expect_not(is_trusted());
	cr_assert_eq(clean_mark_write(test_dir.fd, false), OK);
	cr_expect(is_trusted());
}

Test(clean_mark, is_valid_for_one_file)
{
	for (int clean = 0; clean < 2; clean++) {
		end();
		begin();
		furnish();
		cr_assert_eq(clean_mark_write(test_dir.fd, clean), OK);
		file_write(&test_dir, "db/other", 0, span_str("tables"));
		cr_assert_eq(renameat(test_dir.fd, "db/other", test_dir.fd, "db/data.mdb"), 0);
		cr_expect_not(is_trusted());
	}
}

Test(clean_mark, is_invalid_with_any_flipped_bit)
{
	for (int clean = 0; clean < 2; clean++) {
		uint8_t *text;
		if (!clean) furnish();
		cr_assert_eq(clean_mark_write(test_dir.fd, clean), OK);
		size_t size = file_read(&test_dir, "trust", &text);
		free(text);
		for (size_t i = 0; i < size * 8; i++) {
			file_flip(&test_dir, "trust", i / 8, (uint8_t)(1 << i % 8));
			cr_expect_not(is_trusted(), "bit %zu", i);
			file_flip(&test_dir, "trust", i / 8, (uint8_t)(1 << i % 8));
		}
		cr_expect(is_trusted());
	}
}

Test(clean_mark, of_another_version_is_refused_by_its_number)
{
	bool            present;
	enum clean_mark trust;
	char            why[VERSION_TEXT];
	furnish();
	cr_assert_eq(clean_mark_write(test_dir.fd, false), OK);
	forge("stampede-trust=1", "stampede-trust=2");
	cr_expect_eq(clean_mark_read(test_dir.fd, &present, &trust), ERR_UNSUPPORTED);
	clean_mark_refusal(test_dir.fd, why);
	cr_expect_str_eq(
	    why,
	    "trust has format version 2, this program knows 1: use the program that wrote it, or a newer "
	    "one");
	file_flip(&test_dir, "trust", 30, 1); /* its sum does not hold: no mark at all */
	cr_expect_not(is_trusted());
}

/* A store's tables ---------------------------------------------------------------------------------------- */

static struct span key_of(unsigned i)
{
	static uint8_t key[1];
	key[0] = (uint8_t)i;
	return span_of(key, 1);
}

static int live_and_die(void *user)
{
	bool *orderly = user;
	must(!shop_open(&test_dir, true, &store, &report));
	for (unsigned i = 0; i < ROWS; i++) {
		shop_save(store, TABLE_BODY, key_of(i), filler(i, SIZE));
		if (i == ROWS / 2) must(!store_commit(store));
	}
	if (*orderly) store_close(&store);
	_exit(0);
}

/* Flips a bit of a row's key in every copy in the file. */
static void damage_a_key(struct span value)
{
	uint8_t *bytes;
	size_t   size = file_read(&test_dir, "db/data.mdb", &bytes);
	unsigned found = 0;
	for (size_t at = 1; at + value.size <= size; at++) {
		if (memcmp(bytes + at, value.at, value.size) != 0) continue;
		file_flip(&test_dir, "db/data.mdb", at - 1, 0x40);
		found++;
	}
	must(found);
	free(bytes);
}

static int live_be_damaged_and_stop(void *user)
{
	(void)user;
	must(!shop_open(&test_dir, true, &store, &report));
	for (unsigned i = 0; i < ROWS; i++)
		shop_save(store, TABLE_BODY, key_of(i), filler(i, SIZE));
	shop_save(store, TABLE_BODY, key_of(ROWS), filler(ROWS, SMALL));
	must(!store_commit(store));
	damage_a_key(filler(ROWS, SMALL));
	store_close(&store);
	_exit(0);
}

static void expect_rows(void)
{
	struct span got;
	for (unsigned i = 0; i < ROWS; i++) {
		cr_assert_eq(shop_get(store, TABLE_BODY, key_of(i), &got), OK, "row %u", i);
		cr_expect(span_equal(got, filler(i, SIZE)), "row %u", i);
	}
}

/* A process is killed or stops. Then the host may lose its page cache: half of data.mdb was never written. */
static void expect_after(bool orderly, bool power_lost, uint64_t want_replayed)
{
	cr_assert_eq(in_child(live_and_die, &orderly), 0);
	if (power_lost) {
		file_write(&test_dir, "db/data.mdb", 8192, filler(1, 32768));
		reboot();
	}
	cr_assert_eq(shop_open(&test_dir, false, &store, &report), OK, "%s", report.what);
	cr_expect_eq(report.rebuilt, power_lost);
	cr_expect_eq(report.replayed_records, want_replayed);
	cr_expect_eq(report.epoch, 2);
	expect_rows();
}

Test(clean_mark, of_a_clean_stop_replays_nothing)
{
	expect_after(true, false, 0);
}

Test(clean_mark, of_a_killed_process_replays_uncommitted_records)
{
	expect_after(false, false, ROWS - ROWS / 2 - 1);
}

Test(clean_mark, lost_with_the_page_cache_rebuilds_the_tables)
{
	expect_after(false, true, ROWS + 1); /* and the epoch record */
}

Test(clean_mark, is_not_written_by_a_stop_after_damage_was_found)
{
	struct span got;
	cr_assert_eq(in_child(live_be_damaged_and_stop, NULL), 0);
	cr_assert_eq(shop_open(&test_dir, false, &store, &report), OK, "%s", report.what);
	cr_expect(report.rebuilt);
	cr_expect(strstr(report.refused, "body"), "%s", report.refused);
	expect_rows();
	cr_expect_eq(shop_get(store, TABLE_BODY, key_of(ROWS), &got), OK);
}

Test(clean_mark, lost_with_the_page_cache_needs_the_whole_journal)
{
	bool            orderly = false;
	struct test_dir before;
	cr_assert_eq(in_child(live_and_die, &orderly), 0);
	cr_assert_eq(in_child(live_and_die, &orderly), 0);
	cr_assert_eq(unlinkat(test_dir.fd, "journal/00000000000000000001.seg", 0), 0);
	reboot();
	test_dir_copy(&test_dir, &before);
	cr_expect_eq(shop_open(&test_dir, false, &store, &report), ERR_DAMAGED);
	cr_expect(strstr(report.what, "first segments are missing"), "%s", report.what);
	cr_expect(test_dir_same(&test_dir, &before));
	cr_expect_not(is_trusted());
	test_dir_remove(&before);
}

Test(clean_mark, lost_with_a_damaged_journal_keeps_the_old_tables)
{
	bool     orderly = true;
	uint8_t *before, *after;
	cr_assert_eq(in_child(live_and_die, &orderly), 0);
	unlinkat(test_dir.fd, "trust", 0);
	size_t size_before = file_read(&test_dir, "db/data.mdb", &before);
	file_flip(&test_dir, "journal/00000000000000000001.seg", 3 * 4096 + 100, 1);
	cr_expect_eq(shop_open(&test_dir, false, &store, &report), ERR_DAMAGED);
	cr_expect_neq(report.what[0], 0);
	size_t size_after = file_read(&test_dir, "db/data.mdb", &after);
	cr_expect(span_equal(span_of(before, size_before), span_of(after, size_after)));
	free(before);
	free(after);
}
