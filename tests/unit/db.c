/* LMDB behind the tables: rows and parts, patches, ranges, readers; a damaged byte is never returned as a
 * value. */
#include "tests/unit/support.h"
#include "tests/unit/patience.h"

#include "schemas/limits.h"
#include "store/db_inside.h"
#include "store/keys.h"

#include <criterion/criterion.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

SCRATCH_SUITE(db);

static const struct account_id account = {{1, 2, 3}};

static enum err apply(enum write_kind kind, enum table table, struct span key, struct span value)
{
	struct patch patch = {(uint16_t)(value.size / 2), 1, (const uint8_t *)"P"};
	struct write write = {.kind = kind, .table = table, .key = key, .value = value};
	if (kind == WRITE_PATCH) write = (struct write){kind, table, key, {NULL, 0}, &patch, 1};
	return db_apply(s.db, &write, false);
}

static void put(enum table table, struct span key, struct span value)
{
	cr_assert_eq(apply(WRITE_PUT, table, key, value), OK);
}

static bool holds(enum table table, struct span key, struct span want)
{
	struct span got;
	arena_reset(&s.arena);
	enum err err = view_get(s.view, table, key, &got);
	return err == OK && span_equal(got, want);
}

/* The number of rows of a table as LMDB counts them: left-over parts would be counted. Commits first. */
static size_t raw_rows(const char *table)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi  dbi;
	MDB_stat stat;
	scratch_commit(&s);
	db_close(&s.db);
	cr_assert_eq(mdb_env_create(&env), 0);
	mdb_env_set_maxdbs(env, 16);
	cr_assert_eq(mdb_env_open(env, s.test_dir.path, MDB_RDONLY, 0600), 0);
	cr_assert_eq(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
	cr_assert_eq(mdb_dbi_open(txn, table, 0, &dbi), 0);
	cr_assert_eq(mdb_stat(txn, dbi, &stat), 0);
	mdb_txn_abort(txn);
	mdb_env_close(env);
	scratch_reopen(&s);
	return stat.ms_entries;
}

/* The first part has four bytes less for the value, because they hold the total size. */
static size_t parts_of(size_t size)
{
	return size <= PART_BYTES - 4 ? 1 : 1 + (size - (PART_BYTES - 4) + PART_BYTES - 1) / PART_BYTES;
}

static const size_t sizes[] = {0,    1,    1895, 1896, 1897, 1898, 1899, 1900, 1901,
                               3795, 3796, 3797, 3799, 3800, 3801, 5696, 5697, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

Test(db, values_in_parts_of_every_size_are_read_completely)
{
	struct row_key key = key_u32(account, 5);
	for (unsigned i = 0; i < SIZES; i++) {
		struct span value = filler(sizes[i], sizes[i]);
		put(TABLE_BODY, key_span(&key), value);
		cr_expect(holds(TABLE_BODY, key_span(&key), value), "%zu bytes, uncommitted", sizes[i]);
		cr_expect_eq(raw_rows("body"), parts_of(sizes[i]), "%zu bytes", sizes[i]);
		cr_expect(holds(TABLE_BODY, key_span(&key), value), "%zu bytes", sizes[i]);
		cr_expect_eq(view_exists(s.view, TABLE_BODY, key_span(&key)), OK);
		cr_assert_eq(apply(WRITE_DEL, TABLE_BODY, key_span(&key), value), OK);
		cr_expect_not(holds(TABLE_BODY, key_span(&key), value));
		cr_expect_eq(view_exists(s.view, TABLE_BODY, key_span(&key)), ERR_NOT_FOUND);
		cr_expect_eq(raw_rows("body"), 0, "%zu bytes leave parts behind", sizes[i]);
	}
}

Test(db, the_largest_value_a_command_may_stage_fits)
{
	struct row_key key = key_u32(account, 5);
	struct span    value = filler(1, 2 * PASS_STORED_BYTES_MAX);
	put(TABLE_TEMPLATE, key_span(&key), value);
	cr_expect_eq(raw_rows("template"), parts_of(value.size));
	cr_expect(holds(TABLE_TEMPLATE, key_span(&key), value));
}

/* Every size replaces every other, between two neighbours that must not change. */
Test(db, parted_values_shrink_and_grow_without_leftovers)
{
	struct row_key key = key_u32(account, 5), before = key_u32(account, 4), after = key_u32(account, 6);
	struct span    beside = filler(99, 4000);
	for (unsigned from = 0; from < SIZES; from++)
		for (unsigned to = 0; to < SIZES; to++) {
			put(TABLE_BODY, key_span(&before), beside);
			put(TABLE_BODY, key_span(&after), beside);
			put(TABLE_BODY, key_span(&key), filler(from, sizes[from]));
			struct span value = filler(to + 1000, sizes[to]);
			put(TABLE_BODY, key_span(&key), value);
			cr_assert(holds(TABLE_BODY, key_span(&key), value), "%zu over %zu", sizes[to],
			          sizes[from]);
			cr_assert(holds(TABLE_BODY, key_span(&before), filler(99, 4000)));
			cr_assert(holds(TABLE_BODY, key_span(&after), filler(99, 4000)));
			beside = filler(99, 4000);
			size_t want = parts_of(sizes[to]) + 2 * parts_of(beside.size);
			cr_assert_eq(raw_rows("body"), want, "%zu over %zu", sizes[to], sizes[from]);
			cr_assert(holds(TABLE_BODY, key_span(&key), filler(to + 1000, sizes[to])));
		}
}

Test(db, uncommitted_rows_are_absent_after_reopening)
{
	struct span key = span_str("key"), parted = span_str("parted");
	put(TABLE_HOT, key, span_str("old"));
	scratch_commit(&s);
	put(TABLE_HOT, key, span_str("new"));
	put(TABLE_BODY, parted, filler(1, 5000));
	scratch_reopen(&s);
	cr_expect(holds(TABLE_HOT, key, span_str("old")));
	cr_expect_eq(raw_rows("body"), 0);
}

Test(db, remembers_how_far_the_journal_was_applied)
{
	struct applied got, want = {.segment = 1, .offset = 2, .seq = 3, .epoch = 4, .chain = 5, .now = {-6}};
	cr_expect_eq(db_applied(s.view, &got), ERR_NOT_FOUND);
	cr_assert_eq(db_commit(s.db, &want), OK);
	scratch_reopen(&s);
	cr_assert_eq(db_applied(s.view, &got), OK);
	cr_expect(got.segment == 1 && got.offset == 2 && got.seq == 3);
	cr_expect(got.epoch == 4 && got.chain == 5 && got.now.v == -6);
}

Test(db, refuses_invalid_writes)
{
	struct span key = span_str("key"), value = filler(1, 8);
	cr_expect_eq(apply(WRITE_DEL, TABLE_HOT, key, value), OK);
	cr_expect_eq(apply(WRITE_DEL, TABLE_BODY, key, value), OK);
	cr_expect_eq(apply(WRITE_PATCH, TABLE_HOT, key, value), ERR_DAMAGED);
	put(TABLE_HOT, key, span_of(value.at, 4));
	cr_expect_eq(apply(WRITE_PATCH, TABLE_HOT, key, value), ERR_DAMAGED); /* beyond its end */
	put(TABLE_BODY, key, value);
	cr_expect_eq(apply(WRITE_PATCH, TABLE_BODY, key, value), ERR_UNSUPPORTED);
}

/* A patch in the transaction that put the row, and one in a later transaction, which must copy the page
 * first. */
static void patch_over(size_t key_size, size_t size)
{
	struct span key = filler(7, key_size);
	uint8_t     want[ROW_BYTES_MAX];
	memcpy(want, filler(size, size).at, size);
	put(TABLE_HOT, key, span_of(want, size));
	for (unsigned round = 0; round < 3; round++) {
		uint8_t      byte = (uint8_t)(round + 1);
		struct patch patches[] = {{0, 1, &byte}, {(uint16_t)(size - 1), 1, &byte}};
		struct write write = {WRITE_PATCH, TABLE_HOT, key, {NULL, 0}, patches, 2};
		cr_assert_eq(db_apply(s.db, &write, false), OK);
		want[0] = want[size - 1] = byte;
		cr_expect(holds(TABLE_HOT, key, span_of(want, size)), "key %zu value %zu round %u", key_size,
		          size, round);
		scratch_commit(&s);
	}
	cr_assert_eq(apply(WRITE_DEL, TABLE_HOT, key, key), OK);
}

Test(db, patches_keep_the_rest_of_the_row)
{
	static const size_t key_sizes[] = {1, 10, 14, 26}; /* rows up to this size stay in their page */
	for (unsigned k = 0; k < sizeof key_sizes / sizeof *key_sizes; k++)
		for (size_t size = 1; size <= ROW_BYTES_MAX; size += size < 1900 ? 97 : 1)
			patch_over(key_sizes[k], size);
}

Test(db, staged_writes_lie_over_the_rows)
{
	struct span key = span_str("key"), parted = span_str("parted"), got;
	put(TABLE_HOT, key, span_str("stored"));
	put(TABLE_BODY, parted, filler(1, 4000));
	cr_assert_eq(write_patch(&s.staged, TABLE_HOT, key, 0, span_str("ST")), OK);
	cr_assert_eq(write_put(&s.staged, TABLE_BODY, parted, span_str("short")), OK);
	cr_assert_eq(view_get(s.view, TABLE_HOT, key, &got), OK);
	cr_expect(span_is(got, "STored"));
	cr_assert_eq(view_get(s.view, TABLE_BODY, parted, &got), OK);
	cr_expect_eq(view_exists(s.view, TABLE_BODY, parted), OK);
	cr_expect(span_is(got, "short"));
	cr_assert_eq(write_del(&s.staged, TABLE_HOT, key), OK);
	cr_expect_eq(view_get(s.view, TABLE_HOT, key, &got), ERR_NOT_FOUND);
	cr_expect_eq(view_exists(s.view, TABLE_HOT, key), ERR_NOT_FOUND);
	cr_assert_eq(write_patch(&s.staged, TABLE_TALLY, key, 0, span_str("x")), OK);
	cr_expect_eq(view_get(s.view, TABLE_TALLY, key, &got), ERR_NOT_FOUND); /* an empty patch */
	s.staged = writes_none(&s.arena);
	cr_expect(holds(TABLE_HOT, key, span_str("stored")));
	cr_expect(holds(TABLE_BODY, parted, filler(1, 4000)));
}

Test(db, walks_a_table_in_both_directions)
{
	struct view_row row;
	uint8_t         key[2] = {0};
	cr_expect_eq(view_from(s.view, TABLE_LEDGER, span_str("a"), &row), ERR_NOT_FOUND);
	cr_expect_eq(view_before(s.view, TABLE_LEDGER, span_str("a"), &row), ERR_NOT_FOUND);
	for (unsigned i = 10; i < 200; i += 10) {
		key[0] = (uint8_t)i;
		put(TABLE_LEDGER, span_of(key, 1), span_of(key, 1));
	}
	for (unsigned i = 0; i < 256; i++) {
		unsigned from = (i + 9) / 10 * 10, before = i == 0 ? 0 : (i - 1) / 10 * 10;
		key[0] = (uint8_t)i;
		if (from < 10) from = 10;
		if (before > 190) before = 190;
		enum err err = view_from(s.view, TABLE_LEDGER, span_of(key, 1), &row);
		cr_assert_eq(err, from > 190 ? ERR_NOT_FOUND : OK, "from %u", i);
		if (!err) cr_expect(row.key.at[0] == from && row.value.at[0] == from && row.key.size == 1);
		for (from += 10; !err && !(err = view_next(s.view, TABLE_LEDGER, &row)); from += 10)
			cr_assert_eq(row.key.at[0], from);
		cr_expect_eq(err, ERR_NOT_FOUND);
		err = view_before(s.view, TABLE_LEDGER, span_of(key, 1), &row);
		cr_assert_eq(err, before ? OK : ERR_NOT_FOUND, "before %u", i);
		if (!err) cr_expect(row.key.at[0] == before && row.value.at[0] == before);
	}
	key[0] = 10; /* a longer key sorts after its prefix */
	cr_assert_eq(view_from(s.view, TABLE_LEDGER, span_of(key, 2), &row), OK);
	cr_expect_eq(row.key.at[0], 20);
}

Test(db, a_reader_sees_what_was_committed_when_it_began)
{
	struct arena arena = {0};
	struct span  key = span_str("key"), got;
	struct view *reader;
	put(TABLE_HOT, key, span_str("one"));
	scratch_commit(&s);
	cr_assert_eq(db_reader_open(s.db, &arena, &reader), OK);
	for (unsigned round = 0; round < 3; round++) {
		char now[] = {(char)('a' + round), 0}, was[] = {(char)('a' + round - 1), 0};
		cr_assert_eq(db_reader_begin(reader), OK);
		put(TABLE_HOT, key, span_str(now));
		cr_assert_eq(view_get(reader, TABLE_HOT, key, &got), OK);
		cr_expect(span_is(got, round ? was : "one"));
		scratch_commit(&s);
		cr_assert_eq(view_get(reader, TABLE_HOT, key, &got), OK);
		cr_expect(span_is(got, round ? was : "one"), "its snapshot stays");
		cr_expect_null(view_writes(reader));
		db_reader_end(reader);
	}
	db_reader_close(&reader);
	cr_expect_null(reader);
	arena_free(&arena);
}

/* Damage -------------------------------------------------------------------------------------------------- */

enum { ROWS = 60 };

static struct span row_key_of(unsigned i)
{
	static uint8_t key[4];
	put_be32(key, i);
	return span_of(key, 4);
}

static size_t row_size(unsigned i)
{
	return i % 3 == 0 ? 5000 : 40 + i * 7;
}

static enum table row_table(unsigned i)
{
	return i % 3 == 0 ? TABLE_BODY : TABLE_HOT;
}

static void put_rows(void)
{
	for (unsigned i = 0; i < ROWS; i++)
		put(row_table(i), row_key_of(i), filler(i, row_size(i)));
	scratch_commit(&s);
	cr_assert_eq(db_sync(s.db), OK);
	db_close(&s.db);
}

/* Flips a byte of a row's value in every copy in data.mdb: a split page may leave an older copy. */
static unsigned flip_value(const uint8_t *file, size_t size, unsigned i)
{
	uint64_t       state = i;
	struct span    value = filler(i, row_size(i));
	size_t         within = chance_below(&state, (unsigned)(value.size < 1800 ? value.size : 1800));
	unsigned       copies = 0;
	const uint8_t *at = file;
	while ((at = memmem(at, size - (size_t)(at - file), value.at, 32))) {
		file_flip(&s.test_dir, "data.mdb", (size_t)(at - file) + within, (uint8_t)(1 << i % 8));
		copies++;
		at++;
	}
	return copies;
}

Test(db, any_flipped_byte_of_a_value_is_damage)
{
	uint8_t    *file;
	struct span got;
	put_rows();
	size_t size = file_read(&s.test_dir, "data.mdb", &file);
	for (unsigned i = 0; i < ROWS; i++) {
		cr_assert_gt(flip_value(file, size, i), 0, "row %u", i);
		scratch_reopen(&s);
		cr_expect_eq(view_get(s.view, row_table(i), row_key_of(i), &got), ERR_DAMAGED, "row %u", i);
		for (unsigned k = 0; k < ROWS; k++)
			if (k != i)
				cr_expect(holds(row_table(k), row_key_of(k), filler(k, row_size(k))),
				          "row %u", k);
		db_close(&s.db);
		flip_value(file, size, i);
	}
	free(file);
	scratch_reopen(&s);
}

enum seen { SEEN_RIGHT, SEEN_REFUSED, SEEN_MISSING, SEEN_CHANGED };

/* Runs before damaged pages are read. */
static bool expect_death(void)
{
	static const int deaths[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
	for (unsigned i = 0; i < sizeof deaths / sizeof *deaths; i++)
		signal(deaths[i], SIG_DFL); /* the sanitizer must not report the expected crash */
	alarm((unsigned)patience_ms(5000) /
	      1000); /* a walk over damaged pages may also hang; that counts as a refusal */
	return freopen("/dev/null", "w", stderr);
}

/* Reads every row of a database with damage in any place. */
static int read_rows(void *user)
{
	int seen = SEEN_RIGHT;
	(void)user;
	if (!expect_death()) return SEEN_REFUSED;
	scratch_reopen(&s);
	for (unsigned i = 0; i < ROWS; i++) {
		struct span got;
		arena_reset(&s.arena);
		enum err err = view_get(s.view, row_table(i), row_key_of(i), &got);
		if (!err && !span_equal(got, filler(i, row_size(i)))) return SEEN_CHANGED;
		if (err == ERR_NOT_FOUND)
			seen = SEEN_MISSING;
		else if (err && seen == SEEN_RIGHT)
			seen = SEEN_REFUSED;
	}
	return seen;
}

/* Also in LMDB's own pages, whose damage may crash the reader. Every value that is read must be correct. */
Test(db, a_flipped_byte_anywhere_never_changes_a_value)
{
	uint64_t state = chance_begin();
	unsigned tally[SEEN_CHANGED + 1] = {0}, died = 0;
	uint8_t *file;
	put_rows();
	size_t size = file_read(&s.test_dir, "data.mdb", &file);
	free(file);
	for (unsigned i = 0; i < 200; i++) {
		size_t  at = chance_below(&state, (unsigned)size);
		uint8_t bits = (uint8_t)(1 << chance_below(&state, 8));
		file_flip(&s.test_dir, "data.mdb", at, bits);
		int seen = in_child(read_rows, NULL);
		file_flip(&s.test_dir, "data.mdb", at, bits);
		cr_expect_neq(seen, SEEN_CHANGED, "byte %zu, bits %u", at, bits);
		if (seen >= 0 && seen <= SEEN_CHANGED)
			tally[seen]++;
		else
			died++;
	}
	fprintf(stderr, "right=%u refused=%u missing=%u died=%u\n", tally[0], tally[1], tally[2], died);
	cr_expect_gt(tally[SEEN_REFUSED], 0);
	scratch_reopen(&s);
}

enum wrote { WROTE, WROTE_NOT_DAMAGED, WROTE_NOT_ELSE };
enum { PAGE = 4096, KIND_AT = 10 };

/* Rewrites every row and adds as many. */
static int write_rows(void *user)
{
	struct applied applied = {.seq = 9};
	(void)user;
	if (!expect_death()) return WROTE_NOT_DAMAGED;
	scratch_reopen(&s);
	enum err err = OK;
	for (unsigned i = 0; !err && i < 2 * ROWS; i++)
		err = apply(WRITE_PUT, row_table(i), row_key_of(i), filler(i + 1, row_size(i)));
	if (!err) err = db_commit(s.db, &applied);
	if (!err) return WROTE;
	return err == ERR_DAMAGED || err == ERR_NOT_FOUND ? WROTE_NOT_DAMAGED : WROTE_NOT_ELSE;
}

/* When LMDB meets invalid pages, the fault is the tables', not the disk's: about one place in 40 is such a page. Damage in the list of free pages
 * may make it find the map full, or write outside the file; it may also look like a disk error. */
Test(db, a_write_to_damaged_pages_reports_damaged_tables)
{
#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("LMDB itself writes beyond pages then: that is why they are walked through at a start");
#endif
	uint64_t state = chance_begin();
	unsigned tally[WROTE_NOT_ELSE + 1] = {0};
	uint8_t *file;
	put_rows();
	size_t size = file_read(&s.test_dir, "data.mdb", &file);
	for (unsigned i = 0; i < 300 || (!tally[WROTE_NOT_DAMAGED] && i < 3000); i++) {
		size_t  at = chance_below(&state, (unsigned)size);
		uint8_t bits = (uint8_t)(1 << chance_below(&state, 8));
		if (i % 2) at = at / PAGE * PAGE + chance_below(&state, 64); /* the page headers */
		if (at % PAGE == KIND_AT || at % PAGE == KIND_AT + 1)
			continue; /* which are checked by the walk at a start */
		file_flip(&s.test_dir, "data.mdb", at, bits);
		int wrote = in_child(write_rows, NULL);
		file_write(&s.test_dir, "data.mdb", 0, span_of(file, size));
		if (wrote >= 0 && wrote <= WROTE_NOT_ELSE) tally[wrote]++;
	}
	fprintf(stderr, "wrote=%u damaged=%u else=%u\n", tally[WROTE], tally[WROTE_NOT_DAMAGED],
	        tally[WROTE_NOT_ELSE]);
	cr_expect_gt(tally[WROTE_NOT_DAMAGED], 0);
	cr_expect_leq(tally[WROTE_NOT_ELSE], 3);
	free(file);
	scratch_reopen(&s);
}

static uint64_t file_bytes(uint64_t *has)
{
	int         fd;
	struct stat st;
	cr_assert_eq(mdb_env_get_fd(s.db->env, &fd), 0);
	cr_assert_eq(fstat(fd, &st), 0);
	*has = (uint64_t)st.st_blocks * 512;
	return (uint64_t)st.st_size;
}

/* Large tables have file pages allocated in advance. The file grows ahead of the tables within the reserved
 * size, and is valid when it is opened again. */
Test(db, space_is_reserved_beyond_what_is_used)
{
	enum { AHEAD = 64 << 20, LARGE = 40 << 20, VALUE = 60000 };
	uint64_t has, small = file_bytes(&has);
	cr_assert_eq(db_reserve(s.db, AHEAD), OK);
	db_hold_ahead(s.db, NULL);
	cr_expect_eq(file_bytes(&has), small, "small tables do not grow ahead");
	cr_expect_geq(db_ahead(s.db), AHEAD);
	uint8_t *value = calloc(1, VALUE);
	for (unsigned i = 0; i < LARGE / VALUE; i++)
		put(TABLE_BODY, span_of((uint8_t *)&i, sizeof i), span_of(value, VALUE));
	scratch_commit(&s);
	uint64_t used = file_bytes(&has);
	cr_assert_geq(used, LARGE);
	cr_assert_eq(db_reserve(s.db, AHEAD), OK);
	db_hold_ahead(s.db, NULL);
	uint64_t size = file_bytes(&has);
	cr_expect_gt(size, used);
	cr_expect_leq(size, used + AHEAD);
	cr_expect_geq(has, used + AHEAD);
	cr_expect_geq(db_ahead(s.db), AHEAD);
	cr_assert_eq(db_reserve(s.db, AHEAD), OK);
	db_hold_ahead(s.db, NULL);
	cr_expect_eq(file_bytes(&has), size, "reserved only once");
	scratch_reopen(&s);
	for (unsigned i = 0; i < LARGE / VALUE; i++)
		cr_assert(holds(TABLE_BODY, span_of((uint8_t *)&i, sizeof i), span_of(value, VALUE)));
	free(value);
}
