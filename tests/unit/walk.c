/* The walk over damaged tables: bytes of the file are flipped at random positions, one at a time, in pages of
 * every kind. Damage that the walk does not report must be harmless: every row is still found by its key and
 * in order, and no page in use can be taken for a free one. */
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "store/walk.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 900, FLIPS_DEFAULT = 1500, SIZE_MAX_OF_ROW = 1200 };

SCRATCH_SUITE(walk);

static struct span key_of(unsigned i)
{
	static uint8_t bytes[14];
	put_be32(bytes + 10, i);
	return span_of(bytes, sizeof bytes);
}

static size_t size_of(unsigned i)
{
	return 20 + i * 37 % SIZE_MAX_OF_ROW;
}

static void put_row(enum table table, unsigned i, unsigned generation)
{
	must(!write_put(&s.staged, table, key_of(i), filler(generation * 10000 + i, size_of(i))));
	scratch_save(&s);
}

/* Written, deleted and rewritten, so that there are free pages, and pages of a table with several levels. */
static void furnish(void)
{
	for (unsigned i = 0; i < ROWS; i++) {
		put_row(TABLE_HOT, i, 1);
		put_row(TABLE_BODY, i, 1);
		if (i % 100 == 99) scratch_commit(&s);
	}
	for (unsigned i = 0; i < ROWS; i += 3) {
		must(!write_del(&s.staged, TABLE_BODY, key_of(i)));
		scratch_save(&s);
		put_row(TABLE_HOT, i, 2);
		if (i % 90 == 0) scratch_commit(&s);
	}
	scratch_commit(&s);
}

static unsigned generation_of(unsigned i)
{
	return i % 3 == 0 ? 2 : 1;
}

/* Reads every row by its key, and all in order. */
static bool is_as_written(struct view *view)
{
	struct span     value;
	struct view_row row;
	enum err        err = view_from(view, TABLE_HOT, key_of(0), &row);
	for (unsigned i = 0; i < ROWS; i++, err = view_next(view, TABLE_HOT, &row)) {
		if (err || !span_equal(row.key, key_of(i))) return false;
		if (view_get(view, TABLE_HOT, key_of(i), &value)) return false;
		if (!span_equal(value, filler(generation_of(i) * 10000 + i, size_of(i)))) return false;
		enum err want = i % 3 == 0 ? ERR_NOT_FOUND : OK;
		if (view_get(view, TABLE_BODY, key_of(i), &value) != want) return false;
		if (!want && !span_equal(value, filler(10000 + i, size_of(i)))) return false;
	}
	return err == ERR_NOT_FOUND;
}

enum verdict { SOUND, FOUND, MISSED, OTHERWISE };

static enum verdict judge(struct view *view, struct faults *faults)
{
	enum err err = walk_tables(view, faults, NULL);
	if (err) return err == ERR_IO ? FOUND : OTHERWISE;
	if (faults->count) return FOUND;
	return is_as_written(view) ? SOUND : MISSED;
}

static enum verdict look(struct faults *faults)
{
	struct db   *still = NULL;
	struct view *view = NULL;
	struct arena arena = {0};
	enum verdict verdict = FOUND;
	if (!db_open_still(s.test_dir.fd, &still) && !db_reader_open(still, &arena, &view) &&
	    !db_reader_begin(view)) {
		verdict = judge(view, faults);
		db_reader_end(view);
	}
	db_reader_close(&view);
	db_close(&still);
	arena_free(&arena);
	return verdict;
}

static int look_in_child(void *user)
{
	struct faults faults = {0};
	(void)user;
	_exit((int)look(&faults));
}

Test(walk, finds_no_fault_in_sound_tables)
{
	struct faults faults = {0};
	furnish();
	cr_expect_eq(look(&faults), SOUND, "%s", faults.texts[0]);
}

Test(walk, finds_no_fault_in_empty_tables)
{
	struct faults faults = {0};
	struct db    *still;
	struct view  *view;
	struct arena  arena = {0};
	cr_assert_eq(db_open_still(s.test_dir.fd, &still), OK);
	cr_assert_eq(db_reader_open(still, &arena, &view), OK);
	cr_assert_eq(db_reader_begin(view), OK);
	cr_expect_eq(walk_tables(view, &faults, NULL), OK);
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
	db_reader_end(view);
	db_reader_close(&view);
	db_close(&still);
}

/* The position of the last page's number in LMDB's meta pages: after the page header of 16 bytes and 24 + 2 *
 * 48 bytes. */
enum { LAST_PAGE_AT = 16 + 24 + 2 * 48 };

Test(walk, reserves_no_memory_for_pages_that_the_file_cannot_have)
{
	uint8_t many[8];
	furnish();
	put_le64(many, UINT64_C(1) << 32);
	for (size_t meta = 0; meta < 2; meta++)
		file_write(&s.test_dir, "data.mdb", meta * 4096 + LAST_PAGE_AT, span_of(many, sizeof many));
	struct faults faults = {0};
	cr_expect_eq(look(&faults), FOUND);
	cr_expect(strstr(faults.texts[0], "the tables claim 4294967297 pages, but the file has"), "%s",
	          faults.texts[0]);
}

Test(walk, detects_every_flipped_bit_that_matters)
{
	const char *wanted = getenv("STAMPEDE_WALK_FLIPS");
	unsigned    flips = wanted ? (unsigned)strtoul(wanted, NULL, 10) : FLIPS_DEFAULT, found = 0;
	uint64_t    state = chance_begin();
	uint8_t    *bytes;
	furnish();
	size_t size = file_read(&s.test_dir, "data.mdb", &bytes);
	free(bytes);
	for (unsigned i = 0; i < flips; i++) {
		size_t page = chance_below(&state, (unsigned)(size / 4096));
		/* The page headers, which have the structure, are chosen more often. */
		size_t  at = page * 4096 + chance_below(&state, chance_below(&state, 2) ? 64 : 4096);
		uint8_t bit = (uint8_t)(1u << chance_below(&state, 8));
		file_flip(&s.test_dir, "data.mdb", at, bit);
		int verdict = in_child(look_in_child, NULL);
		cr_expect(verdict != MISSED && verdict != OTHERWISE, "byte %zu of page %zu, bit %x: %d",
		          at % 4096, page, bit, verdict);
		found += verdict != SOUND; /* a child that crashed counts as detected */
		file_flip(&s.test_dir, "data.mdb", at, bit);
	}
	fprintf(stderr, "%u of %u flips found, the others changed nothing\n", found, flips);
	cr_expect_gt(found, flips / 8);
	cr_expect_eq(in_child(look_in_child, NULL), SOUND);
}

/* True if this looks like a list of free pages: its length, then descending numbers. */
static bool is_free_list(const uint8_t *at, const uint8_t *end, uint64_t pages)
{
	if (end - at < 8) return false;
	uint64_t count = get_le64(at), last = pages;
	if (count < 3 || count > 200 || (uint64_t)(end - at) < 8 + count * 8) return false;
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t number = get_le64(at + 8 * i);
		if (number < 2 || number >= last) return false;
		last = number;
	}
	return true;
}

/* A page in the free list that still has a row would be overwritten sooner or later. */
Test(walk, finds_a_page_that_is_free_and_in_use)
{
	struct faults faults = {0};
	uint8_t      *bytes;
	furnish();
	size_t  size = file_read(&s.test_dir, "data.mdb", &bytes);
	size_t  leaf = 0;
	uint8_t want[8];
	for (size_t page = 2; page < size / 4096 && !leaf; page++)
		if (memmem(bytes + page * 4096, 4096, filler(20000, size_of(0)).at, size_of(0))) leaf = page;
	cr_assert_gt(leaf, 0);
	put_le64(want, leaf);
	unsigned changed = 0;
	for (size_t at = 8192; at < size; at += 2) {
		if (!is_free_list(bytes + at, bytes + size, size / 4096)) continue;
		file_write(&s.test_dir, "data.mdb", at + 8 * get_le64(bytes + at), span_of(want, 8));
		changed++;
	}
	free(bytes);
	cr_assert_gt(changed, 0);
	cr_expect_eq(look(&faults), FOUND);
	bool told = false;
	for (unsigned i = 0; i < FAULTS_KEPT; i++)
		told |= strstr(faults.texts[i], "is free and in use") != NULL;
	cr_expect(told, "%s", faults.texts[0]);
}
