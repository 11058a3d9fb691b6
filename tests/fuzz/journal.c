/* The journal's walk after a stop, over segments of any bytes. The input is a list of steps: a record written
 * at its right place or anywhere, valid or malformed; random bytes; a flipped bit; a segment head changed
 * with a valid checksum; a deleted segment. Then: no record is returned that breaks the chain or has a wrong
 * checksum; a refusal changes nothing; and after a recovery the same records are there, nothing after them,
 * and the tables match them. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/support.h"

#include "schemas/crc32c.h"
#include "store/recover.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEGMENTS = 3, BLOCKS = 8, SEGMENT = BLOCKS * RECORD_ALIGN, STEPS_MAX = 24, MODEL_KEYS = 8 };

static const struct journal_dir home = {.shard = 3, .lineage = {1, 2, 3}, .segment_bytes = SEGMENT};
static struct test_dir          test_dir, tables;
static struct journal_dir       dir;
static struct buffer            bytes_out;
static uint8_t                  heads[SEGMENTS][RECORD_ALIGN];
static uint8_t                  disk[SEGMENTS][SEGMENT], before[SEGMENTS][SEGMENT];
static bool                     lost[SEGMENTS];
static struct record            next; /* as a correct writer would write it */

/* Steps that write
 * ------------------------------------------------------------------------------------------ */

static void begin(void)
{
	test_dir_make(&test_dir);
	test_dir_make(&tables);
	dir = home;
	dir.fd = test_dir.fd;
	for (unsigned i = 0; i < SEGMENTS; i++) {
		uint8_t *bytes;
		char     name[SEGMENT_NAME];
		must(!segment_create(&dir, i + 1, NULL));
		segment_name(i + 1, name);
		(void)file_read(&test_dir, name, &bytes);
		memcpy(heads[i], bytes, RECORD_ALIGN);
		free(bytes);
	}
}

static void blank(void)
{
	next = (struct record){.kind = RECORD_WRITES,
	                       .shard = home.shard,
	                       .segment = 1,
	                       .offset = RECORD_ALIGN,
	                       .epoch = 1,
	                       .seq = 1};
	memcpy(next.lineage, home.lineage, sizeof next.lineage);
	memset(disk, 0, sizeof disk);
	for (unsigned i = 0; i < SEGMENTS; i++) {
		memcpy(disk[i], heads[i], RECORD_ALIGN);
		lost[i] = false;
	}
}

static void write_disk(void)
{
	for (unsigned i = 0; i < SEGMENTS; i++) {
		char name[SEGMENT_NAME];
		segment_name(i + 1, name);
		if (lost[i])
			(void)unlinkat(test_dir.fd, name, 0);
		else
			file_write(&test_dir, name, 0, span_of(disk[i], SEGMENT));
	}
}

/* What recovery may have changed; a deleted segment reads as empty. */
static void read_disk(uint8_t to[SEGMENTS][SEGMENT])
{
	for (unsigned i = 0; i < SEGMENTS; i++) {
		char name[SEGMENT_NAME];
		segment_name(i + 1, name);
		memset(to[i], 0, SEGMENT);
		int fd = openat(test_dir.fd, name, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) must(read(fd, to[i], SEGMENT) == SEGMENT);
		if (fd >= 0) close(fd);
	}
}

/* Steps --------------------------------------------------------------------------------------------------- */

static void add_operations(struct supply *supply)
{
	unsigned count = supply_byte(supply) % 6;
	for (unsigned i = 0; i < count; i++) {
		uint8_t      what = supply_byte(supply), key = (uint8_t)('a' + what % MODEL_KEYS);
		struct patch patch = {
		    .offset = supply_byte(supply) % 8, .size = 2, .bytes = (const uint8_t *)"xy"};
		struct write write = {.kind = (enum write_kind)(1 + what / MODEL_KEYS % 3),
		                      .table = (enum table)(1 + supply_byte(supply) % TABLE_END),
		                      .key = span_of(&key, 1),
		                      .patches = &patch,
		                      .patch_count = 1};
		if (write.kind == WRITE_PUT) write.value = supply_bytes(supply, supply_byte(supply));
		record_add(&bytes_out, &write);
		next.operations++;
	}
}

static void place_record(const struct record *record, bool moves)
{
	uint64_t room = record_room(bytes_out.size - RECORD_HEAD);
	if (record->segment < 1 || record->segment > SEGMENTS || record->offset + room > SEGMENT) return;
	memcpy(disk[record->segment - 1] + record->offset, bytes_out.at, bytes_out.size);
	if (!moves) return;
	next.offset += room;
	next.durable_seq = next.seq++;
	next.chain_before = record->chain;
}

static void step_record(struct supply *supply, bool rightly)
{
	next.operations = 0;
	record_begin(&bytes_out);
	if (supply_byte(supply) & 1)
		add_operations(supply);
	else
		buffer_append(&bytes_out, supply->left.at, supply_bytes(supply, supply_byte(supply)).size);
	struct record record = next;
	if (!rightly) {
		uint8_t what = supply_byte(supply);
		if (what & 1) record.seq = supply_number(supply, 1);
		if (what & 2) record.durable_seq = supply_number(supply, 1);
		if (what & 4) record.segment = supply_number(supply, 1) % 5;
		if (what & 8) record.offset = supply_number(supply, 1) % BLOCKS * RECORD_ALIGN;
		if (what & 16) record.epoch = supply_number(supply, 1);
		if (what & 32) record.kind = (enum record_kind)supply_byte(supply);
		if (what & 64) record.chain_before ^= 1;
		if (what & 128) record.shard++;
	}
	record_seal(&bytes_out, &record);
	place_record(&record, rightly);
}

static void step_segment(void)
{
	if (next.segment == SEGMENTS) return;
	next.segment++;
	next.offset = RECORD_ALIGN;
}

static void step_rubbish(struct supply *supply)
{
	unsigned    segment = supply_byte(supply) % SEGMENTS;
	size_t      at = supply_number(supply, 2) % SEGMENT;
	struct span rubbish = supply_bytes(supply, supply_byte(supply));
	if (at + rubbish.size <= SEGMENT && rubbish.size)
		memcpy(disk[segment] + at, rubbish.at, rubbish.size);
}

static void step_flip(struct supply *supply)
{
	unsigned segment = supply_byte(supply) % SEGMENTS;
	disk[segment][supply_number(supply, 2) % SEGMENT] ^= (uint8_t)(1u << supply_byte(supply) % 8);
}

/* The length, version or number in a segment's head, with a valid checksum. */
static void step_head(struct supply *supply)
{
	uint8_t *head = disk[supply_byte(supply) % SEGMENTS];
	head[8 + supply_byte(supply) % 40] = supply_byte(supply);
	put_le32(head + 48, crc32c(0, head, 48));
}

static void make(struct supply *supply)
{
	for (unsigned i = 0; i < STEPS_MAX && supply->left.size; i++) {
		switch (supply_byte(supply) % 8) {
		case 0:
		case 1:
		case 2: step_record(supply, true); break;
		case 3: step_record(supply, false); break;
		case 4: step_segment(); break;
		case 5: step_rubbish(supply); break;
		case 6: step_flip(supply); break;
		default:
			if (supply_byte(supply) & 1)
				step_head(supply);
			else
				lost[supply_byte(supply) % SEGMENTS] = true;
		}
	}
}

/* Checks
 * -------------------------------------------------------------------------------------------------- */

/* Independent of the store's code except for the checksum. */
static void check_record(const struct position *from, const struct position *at, const struct record *record)
{
	uint8_t  one[SEGMENT]; /* the inner part, and then the head */
	size_t   size = RECORD_HEAD + record->writes.size;
	uint8_t *there = disk[at->segment - 1] + at->record_offset, *inner = there + RECORD_OUTER;
	must(at->segment >= 1 && at->segment <= SEGMENTS && at->record_offset + size <= SEGMENT);
	must(at->record_offset % RECORD_ALIGN == 0 && at->record_offset >= RECORD_ALIGN);
	memcpy(one, inner, size - RECORD_OUTER);
	memcpy(one + size - RECORD_OUTER, there, 32);
	must(crc32c_by_table(0, one, size - RECORD_OUTER + 32) == get_le32(there + 32));
	must(crc32c_by_table(0, inner, size - RECORD_OUTER) == at->chain);
	must(get_le64(inner + 28) == from->seq + 1 && get_le32(inner + 52) == from->chain);
	must(get_le64(there + 8) == at->segment && get_le64(there + 16) == at->record_offset);
	must(record->shard == home.shard && !memcmp(record->lineage, home.lineage, 16));
	must(record->epoch >= from->epoch);
}

static uint64_t walk(struct scan *scan)
{
	struct position at = {0}, from = at;
	struct record   record;
	enum err        err;
	while (!(err = scan_next(scan, &at, &record))) {
		check_record(&from, &at, &record);
		must(scan_check(scan, &at) == OK);
		from = at;
	}
	must(err == ERR_NOT_FOUND || err == ERR_DAMAGED || err == ERR_UNSUPPORTED);
	return at.seq;
}

static bool is_answer(enum err err)
{
	return err == OK || err == ERR_DAMAGED || err == ERR_UNSUPPORTED || err == ERR_MALFORMED ||
	       err == ERR_NOT_FOUND || err == ERR_IO;
}

/* An accepted journal stays as it is: a second recovery changes and cuts nothing. */
static void check_again(uint64_t seq)
{
	struct scan     scan;
	struct position at = {0};
	struct record   record;
	uint64_t        first, last;
	bool            is_blank;
	enum err        err;
	must(segment_range(&dir, &first, &last) == OK);
	read_disk(disk);
	scan_begin(&scan, &dir, last);
	must(walk(&scan) == seq);
	while (!(err = scan_next(&scan, &at, &record)))
		;
	must(err == ERR_NOT_FOUND && scan_tail(&scan, &at, &is_blank) == OK);
	/* Where the next record would begin there are no bytes, and no later segment has been written to. */
	for (size_t i = 0; at.segment && at.offset < SEGMENT && i < RECORD_ALIGN; i++)
		must(disk[at.segment - 1][at.offset + i] == 0);
	must(is_blank || at.segment == last);
	scan_end(&scan);
}

static void recover(struct db *db, uint64_t walked)
{
	static struct store_report report;
	struct recovery            recovery = {.blank = true};
	struct applied             applied;
	report = (struct store_report){.epoch = 0};
	enum err err = recover_judge(&dir, db, 0, &recovery, &report);
	must(is_answer(err));
	read_disk(before);
	must(!memcmp(before, disk, sizeof disk)); /* the checks change nothing */
	if (err) goto out;
	must(recovery.end.seq == walked);
	if (!(err = recover_finish(&recovery, db, &report))) {
		check_again(walked);
		applied = applied_at(&recovery.end, report.last_now);
		must(db_commit(db, &applied) == OK);
	}
	must(is_answer(err));
out:
	recover_end(&recovery);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct supply supply = {span_of(bytes, size)};
	struct scan   scan;
	struct db    *db = NULL;
	uint64_t      first, last;
	if (!dir.fd) begin();
	blank();
	make(&supply);
	write_disk();
	for (unsigned i = 0; i < SEGMENTS; i++)
		if (lost[i]) memset(disk[i], 0, SEGMENT);
	if (segment_range(&dir, &first, &last)) return 0;
	scan_begin(&scan, &dir, last);
	uint64_t walked = walk(&scan);
	scan_end(&scan);
	(void)unlinkat(tables.fd, "data.mdb", 0);
	(void)unlinkat(tables.fd, "lock.mdb", 0);
	must(!db_open(tables.fd, 4 << 20, home.lineage, &db) && !db_begin(db));
	recover(db, walked);
	db_close(&db);
	return 0;
}
