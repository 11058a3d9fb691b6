/* Formats of a version that is not known: refused by a sentence with their number, before anything is changed. The other
 * files' versions are looked at where their format is: clean_mark.c, segment.c, snapshot.c, identity.c, backup.c. */
#include "tests/unit/shop.h"

#include "schemas/crc32c.h"
#include "store/clean_mark.h"
#include "store/db_inside.h"
#include "store/dump.h"

#include <fcntl.h>
#include <unistd.h>

TestSuite(format_versions, .init = begin, .fini = end);

static void put_applied(struct db *db, struct span value)
{
	struct write write = {
	    .kind = WRITE_PUT, .table = TABLE_META, .key = span_str("applied"), .value = value};
	cr_assert_eq(db_apply(db, &write, true), OK);
}

/* A program with another set replays too little from `late` on. Who changes the set raises TABLES_VERSION, and then this. */
Test(format_versions, the_set_of_late_tables_belongs_to_the_version)
{
	cr_expect_eq(TABLES_VERSION, 4);
	for (unsigned table = 0; table < TABLE_END; table++) {
		bool is_of_version = table == TABLE_HOT || table == TABLE_LEDGER ||
		                     table == TABLE_IDEMPOTENCY;
		cr_expect_eq(table_is_late((enum table)table), is_of_version, "table %u", table);
	}
}

Test(format_versions, tables_of_earlier_versions_are_read_and_unknown_ones_refused)
{
	static const struct {
		uint32_t version;
		size_t   size;
		enum err want;
	} rows[] = {{2, 56, OK},
	            {3, 72, OK},
	            {4, 72, OK},
	            {5, 72, ERR_UNSUPPORTED},
	            {5, 100, ERR_UNSUPPORTED},
	            {5, 4, ERR_UNSUPPORTED},
	            {3, 56, ERR_DAMAGED},
	            {2, 72, ERR_DAMAGED},
	            {2, 57, ERR_DAMAGED},
	            {1, 56, ERR_DAMAGED},
	            {0, 56, ERR_DAMAGED},
	            {2, 3, ERR_DAMAGED}};
	uint8_t        value[100] = {0};
	char           why[VERSION_TEXT];
	struct applied got;
	struct scratch s;
	scratch_open(&s);
	put_le64(value + 16, 77);
	put_le32(value + 48, 99);
	put_applied(s.db, span_of(value, 52)); /* as version 1 was written */
	cr_assert_eq(db_applied(s.view, &got), OK);
	cr_expect(got.seq == 77 && got.chain == 99);
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		put_le32(value, rows[i].version);
		put_applied(s.db, span_of(value, rows[i].size));
		cr_expect_eq(db_applied(s.view, &got), rows[i].want, "row %u", i);
		if (rows[i].want != ERR_UNSUPPORTED) continue;
		db_refusal(s.view, "db/data.mdb", why);
		cr_expect_str_eq(
		    why, "db/data.mdb has format version 5, this program knows 4: use the program that wrote "
		         "it, or a newer one");
	}
	scratch_close(&s);
}

static void set_version(const struct test_dir *at, uint64_t segment, uint32_t version)
{
	char     name[SEGMENT_NAME], path[SEGMENT_NAME + 8];
	uint8_t *bytes;
	segment_name(segment, name);
	snprintf(path, sizeof path, "journal/%s", name);
	(void)file_read(at, path, &bytes);
	put_le32(bytes + 8, version);
	put_le32(bytes + 48, crc32c(0, bytes, 48));
	file_write(at, path, 0, span_of(bytes, 52));
	free(bytes);
}

static uint64_t last_segment(void)
{
	struct journal_dir dir = {.fd = openat(test_dir.fd, "journal", O_RDONLY | O_DIRECTORY)};
	uint64_t           first, last;
	cr_assert_eq(segment_range(&dir, &first, &last), OK);
	close(dir.fd);
	return last;
}

/* Each of them: the oldest, which only a rebuild would read, and the newest, which may hold nothing. With tables that are
 * trusted, and with ones that are not. */
Test(format_versions, a_segment_of_another_version_is_refused_and_nothing_changed)
{
	static const char why[] =
	    ".seg has format version 1, this program knows 2: back up the data directory with the "
	    "program that wrote it, and restore that backup with this one";
	open_ok(&test_dir);
	save(1, 900);
	store_close(&store);
	open_ok(&test_dir);
	save(2, 900);
	store_close(&store);
	uint64_t last = last_segment();
	for (unsigned trusted = 2; trusted-- > 0;) {
		if (!trusted) cr_assert_eq(unlinkat(test_dir.fd, "trust", 0), 0);
		for (uint64_t segment = 1; segment <= last; segment++) {
			set_version(&test_dir, segment, 1);
			expect_refused(&test_dir, false, ERR_UNSUPPORTED, why);
			store_close(&store);
			set_version(&test_dir, segment, SEGMENT_VERSION);
		}
	}
	open_ok(&test_dir);
	cr_expect(holds(1, 900) && holds(2, 900));
}

/* Written by a program that knows more of the tables: neither trusted nor rebuilt. */
Test(format_versions, tables_of_another_version_are_refused_and_nothing_changed)
{
	uint8_t    value[60] = {0};
	struct db *db;
	open_ok(&test_dir);
	save(1, 900);
	store_close(&store);
	int fd = openat(test_dir.fd, "db", O_RDONLY | O_DIRECTORY);
	cr_assert_eq(db_open(fd, MAP_BYTES, shop_lineage, &db), OK);
	cr_assert_eq(db_begin(db), OK);
	put_le32(value, TABLES_VERSION + 1);
	put_applied(db, span_of(value, sizeof value));
	for (unsigned i = 0; i < TABLE_END; i++) {
		if (db->writer.cursors[i]) mdb_cursor_close(db->writer.cursors[i]);
		db->writer.cursors[i] = NULL;
	}
	cr_assert_eq(mdb_txn_commit(db->writer.txn), 0);
	db->writer.txn = NULL;
	db_close(&db);
	close(fd);
	cr_assert_eq(clean_mark_write(test_dir.fd, true), OK);
	expect_refused(
	    &test_dir, false, ERR_UNSUPPORTED,
	    "db/data.mdb has format version 5, this program knows 4: use the program that wrote it");
}

static bool take_line(void *user, struct span line)
{
	(void)line;
	++*(unsigned *)user;
	return true;
}

/* Its sum holds, in a segment of this version. */
Test(format_versions, a_record_of_another_version_is_refused_and_nothing_changed)
{
	static const char want[] =
	    "a record in journal/00000000000000000001.seg has format version 3, this program knows 2: "
	    "use the program that wrote it, or a newer one";
	char           why[VERSION_TEXT];
	unsigned       lines = 0;
	struct dump_to to = {take_line, &lines, why};
	uint8_t       *bytes;
	open_ok(&test_dir);
	save(1, 100);
	store_close(&store);
	struct found record = find_record(&test_dir, 2);
	(void)file_read(&test_dir, record.name, &bytes);
	uint8_t *head = bytes + record.at;
	head[4] = RECORD_VERSION + 1;
	put_le32(head + 32, crc32c(crc32c(0, head + RECORD_OUTER, record.size - RECORD_OUTER), head, 32));
	file_write(&test_dir, record.name, record.at, span_of(head, record.size));
	free(bytes);
	cr_expect_eq(dump_journal(test_dir.fd, 0, &to), ERR_UNSUPPORTED);
	cr_expect_eq(lines, 1); /* the one before */
	cr_expect_str_eq(why, want);
	expect_refused(&test_dir, false, ERR_UNSUPPORTED, want);
	cr_assert_eq(unlinkat(test_dir.fd, "trust", 0), 0);
	expect_refused(&test_dir, false, ERR_UNSUPPORTED, want);
}
