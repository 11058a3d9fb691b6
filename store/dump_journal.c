/* The records of a journal, segment by segment, and the gaps between them. One pass distinguishes damage from the
 * traces of a crash: a gap waits for the next record.
 *   it follows the last one        the write of a record was cut off, and the next start continued elsewhere
 *   it knows of a missing one      an acknowledged record is damaged or lost
 *   there is none                  the write of a record was cut off */
#include "store/dump_inside.h"

#include "schemas/array.h"
#include "store/file.h"
#include "store/scan.h"
#include "store/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes that are neither a record nor zeros. */
struct gap {
	uint64_t segment, offset, bytes;
};

struct reading {
	const struct dump_to *to;
	uint64_t              from;
	int                   shard_fd, dir_fd;
	uint64_t             *numbers; /* of the segments, ascending */
	size_t                count, room;
	struct gap           *gaps; /* not yet classified */
	size_t                gap_count, gap_room;
	bool                  ended; /* the receiver wants no more lines */
	bool                  bad;   /* the current line shows damage */
	uint64_t              bad_lines;
	bool                  begun; /* there was a record: `last` */
	struct record         last;
	struct arena          arena;
	struct buffer         line;
	enum err              err; /* the first */
};

static void end_line(struct reading *self)
{
	buffer_text(&self->line, "}\n");
	if (self->line.failed) self->err = ERR_NO_MEMORY;
	self->bad_lines += self->bad;
	if (!self->err && !self->ended)
		self->ended = !self->to->line(self->to->user, buffer_span(&self->line));
}

static void begin_line(struct reading *self)
{
	buffer_clear(&self->line);
	buffer_byte(&self->line, '{');
	self->bad = false;
}

static void add_damage(struct reading *self, const char *what)
{
	dump_word(&self->line, "damaged", what);
	self->bad = true;
}

/* Segments -------------------------------------------------------------------------------------------------- */

static int in_order(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static enum err list_segments(struct reading *self)
{
	uint64_t       number, *more;
	struct dirent *entry;
	DIR           *list;
	enum err       err = file_list(self->dir_fd, ".", &list);
	if (err) return ERR_IO;
	while (!err && (entry = readdir(list))) {
		if (!segment_number_read(entry->d_name, &number)) continue;
		more = array_grown(self->numbers, self->count, &self->room, sizeof *more);
		if (!more) {
			err = ERR_NO_MEMORY;
		} else {
			self->numbers = more;
			self->numbers[self->count++] = number;
		}
	}
	closedir(list);
	if (self->count) qsort(self->numbers, self->count, sizeof *self->numbers, in_order);
	return err;
}

static void show_segment(struct reading *self, uint64_t number, const char *what)
{
	begin_line(self);
	dump_count(&self->line, "segment", number);
	add_damage(self, what);
	end_line(self);
}

/* Gaps ------------------------------------------------------------------------------------------------------ */

static void show_gaps(struct reading *self, bool damaged)
{
	uint64_t next = self->begun ? self->last.seq + 1 : 0;
	for (size_t i = 0; i < self->gap_count && next >= self->from; i++) {
		begin_line(self);
		dump_count(&self->line, "segment", self->gaps[i].segment);
		dump_count(&self->line, "offset", self->gaps[i].offset);
		dump_count(&self->line, "bytes", self->gaps[i].bytes);
		if (damaged)
			add_damage(self, "no whole record, where there was an acknowledged one");
		else
			dump_word(&self->line, "unfinished",
			          "no whole record, and none was missed: its write was cut off");
		end_line(self);
	}
	self->gap_count = 0;
}

static void add_gap(struct reading *self, uint64_t segment, uint64_t offset)
{
	struct gap *last = self->gap_count ? &self->gaps[self->gap_count - 1] : NULL;
	if (last && last->segment == segment && last->offset + last->bytes == offset) {
		last->bytes += RECORD_ALIGN;
		return;
	}
	struct gap *more = array_grown(self->gaps, self->gap_count, &self->gap_room, sizeof *more);
	if (!more) {
		self->err = ERR_NO_MEMORY;
		return;
	}
	self->gaps = more;
	self->gaps[self->gap_count++] = (struct gap){segment, offset, RECORD_ALIGN};
}

/* Records --------------------------------------------------------------------------------------------------- */

static void show_patches(struct buffer *out, const struct write *write)
{
	dump_begin(out, "patches", '[');
	for (unsigned i = 0; i < write->patch_count; i++) {
		dump_item(out);
		buffer_byte(out, '{');
		dump_count(out, "offset", write->patches[i].offset);
		/* Only tables of numbers and times are patched today; later ones may hold secrets. */
		if (write->table == TABLE_HOT || write->table == TABLE_STATUS || write->table == TABLE_SCAN)
			dump_hex(out, "bytes", span_of(write->patches[i].bytes, write->patches[i].size));
		else
			dump_hidden(out, "bytes", write->patches[i].size);
		buffer_byte(out, '}');
	}
	buffer_byte(out, ']');
}

/* False: its key or value is malformed. */
static bool show_operation(struct buffer *out, const struct write *write)
{
	static const char *const words[] = {
	    [WRITE_PUT] = "put", [WRITE_DEL] = "delete", [WRITE_PATCH] = "patch"};
	static const char *const names[TABLE_END] = {
#define T(id, NAME, name, kind) [id] = name,
#include "store/tables.def"
#undef T
	};
	dump_item(out);
	buffer_byte(out, '{');
	dump_word(out, "op", words[write->kind]);
	dump_word(out, "table", names[write->table]);
	buffer_text(out, ",\"key\":");
	bool fits = dump_key(write->table, write->key, out);
	if (write->kind == WRITE_PUT) {
		buffer_text(out, ",\"value\":");
		if (!dump_value(write->table, write->key, write->value, out)) fits = false;
	}
	if (write->kind == WRITE_PATCH) show_patches(out, write);
	buffer_byte(out, '}');
	return fits;
}

static void show_operations(struct reading *self, const struct record *record)
{
	struct span  left = record->writes;
	struct write write;
	uint32_t     count = 0;
	enum err     err;
	dump_begin(&self->line, "operations", '[');
	while (!(err = record_next(&left, &self->arena, &write))) {
		if (!show_operation(&self->line, &write)) self->bad = true;
		count++;
	}
	buffer_byte(&self->line, ']');
	arena_reset(&self->arena);
	if (err == ERR_NO_MEMORY) self->err = err;
	if (err != ERR_NOT_FOUND || count != record->operations)
		add_damage(self, "operations of an unknown form, or too few of them");
}

static void show_record(struct reading *self, const struct record *record, bool stale)
{
	struct buffer *out = &self->line;
	if (record->seq < self->from) return;
	begin_line(self);
	dump_count(out, "seq", record->seq);
	dump_count(out, "epoch", record->epoch);
	dump_word(out, "kind", record->kind == RECORD_EPOCH ? "epoch" : "writes");
	dump_time(out, "time", record->now);
	dump_count(out, "segment", record->segment);
	dump_count(out, "offset", record->offset);
	dump_count(out, "bytes", RECORD_HEAD + record->writes.size);
	dump_count(out, "durable_seq", record->durable_seq);
	if (stale) dump_word(out, "unfinished", "behind a record whose write was cut off");
	show_operations(self, record);
	end_line(self);
}

static void show_lost(struct reading *self, const struct record *record)
{
	if (record->seq < self->from) return;
	begin_line(self);
	dump_count(&self->line, "segment", record->segment);
	dump_count(&self->line, "offset", record->offset);
	dump_count(&self->line, "expected_seq", self->last.seq + 1);
	dump_count(&self->line, "found_seq", record->seq);
	add_damage(self, "this record does not follow the one before");
	end_line(self);
}

/* A journal may begin behind its first segment where a snapshot has what was before. `last` is the first record, if there
 * is one, and says whose snapshots count. */
static void judge_begin(struct reading *self)
{
	struct journal_dir dir = {.fd = self->dir_fd, .shard = self->last.shard};
	struct snapshot    list[SNAPSHOTS_KEPT];
	unsigned           count = SNAPSHOTS_KEPT;
	bool               joined = false;
	if (!self->count || self->numbers[0] == 1) return;
	memcpy(dir.lineage, self->last.lineage, sizeof dir.lineage);
	if (snapshot_list(self->shard_fd, &dir, list, &count, NULL)) count = 0;
	for (unsigned i = 0; i < count; i++)
		joined |= list[i].at.segment >= self->numbers[0];
	if (!joined) show_segment(self, self->numbers[0] - 1, "missing, and no snapshot has what was before");
}

static void take_record(struct reading *self, const struct record *record)
{
	bool follows = !self->begun ||
	               (record->seq == self->last.seq + 1 && record->chain_before == self->last.chain);
	bool knows = record->durable_seq > self->last.seq;
	if (self->begun && !follows && !knows) { /* a later record may still follow `last` */
		show_record(self, record, true);
		return;
	}
	bool lost = !follows && !self->gap_count;
	if (!self->begun) {
		self->last = *record;
		judge_begin(self);
	}
	show_gaps(self, self->begun ? !follows : record->seq > 1);
	if (lost) show_lost(self, record);
	show_record(self, record, false);
	self->last = *record;
	self->begun = true;
}

/* One segment ----------------------------------------------------------------------------------------------- */

static bool is_blank(const uint8_t *page)
{
	return !page[0] && !memcmp(page, page + 1, RECORD_ALIGN - 1);
}

static void refuse_record(struct reading *self, uint64_t number, struct span record)
{
	const struct journal_dir dir = {.fd = self->dir_fd};
	const struct scan        scan = {.dir = &dir, .refused = number, .version = record_version(record)};
	if (self->to->why) scan_refusal(&scan, self->to->why);
	self->err = ERR_UNSUPPORTED;
}

/* The record at an offset, if its head states that position. */
static bool record_at(struct reading *self, struct span bytes, uint64_t number, uint64_t offset,
                      struct record *record)
{
	struct span here = span_of(bytes.at + offset, bytes.size - offset);
	enum err    err = record_open(here, record);
	if (err == ERR_UNSUPPORTED) refuse_record(self, number, here);
	return !err && record->segment == number && record->offset == offset;
}

static void read_records(struct reading *self, uint64_t number, struct span bytes)
{
	struct record record;
	uint64_t      offset = RECORD_ALIGN;
	while (offset + RECORD_ALIGN <= bytes.size && !self->ended && !self->err) {
		uint64_t room = RECORD_ALIGN;
		if (record_at(self, bytes, number, offset, &record)) {
			room = record_room(record.writes.size);
			take_record(self, &record);
		} else if (!is_blank(bytes.at + offset)) {
			add_gap(self, number, offset);
		}
		offset += room;
	}
}

static bool has_known_version(struct reading *self, uint64_t number)
{
	const struct journal_dir dir = {.fd = self->dir_fd};
	char                     why[VERSION_TEXT];
	self->err = segment_judge_version(&dir, number, self->to->why ? self->to->why : why);
	return !self->err;
}

static void read_segment(struct reading *self, uint64_t number)
{
	char        name[SEGMENT_NAME];
	struct stat st;
	if (!has_known_version(self, number)) return;
	segment_name(number, name);
	int fd = openat(self->dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		show_segment(self, number, "it cannot be read");
	} else if (!S_ISREG(st.st_mode)) {
		show_segment(self, number, "not a file");
	} else if (st.st_size <= RECORD_ALIGN) {
		show_segment(self, number, "too short for a segment");
	} else {
		void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at == MAP_FAILED) {
			self->err = ERR_NO_MEMORY;
		} else {
			struct span bytes = span_of(at, (size_t)st.st_size);
			if (!segment_head_holds(bytes, number))
				show_segment(self, number, "its head or size is not that of this segment");
			read_records(self, number, bytes);
			munmap(at, (size_t)st.st_size);
		}
	}
	if (fd >= 0) close(fd);
}

static void read_all(struct reading *self)
{
	for (size_t i = 0; i < self->count && !self->ended && !self->err; i++) {
		if (i && self->numbers[i] != self->numbers[i - 1] + 1)
			show_segment(self, self->numbers[i - 1] + 1, "missing");
		read_segment(self, self->numbers[i]);
	}
	if (!self->begun) judge_begin(self);
	if (!self->ended && !self->err) show_gaps(self, false);
}

enum err dump_journal(int shard_fd, uint64_t from, const struct dump_to *to)
{
	struct reading self = {.to = to, .from = from, .shard_fd = shard_fd};
	self.dir_fd = openat(shard_fd, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self.dir_fd < 0) return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
	self.err = list_segments(&self);
	if (!self.err) read_all(&self);
	if (!self.err && !self.ended) self.err = dump_end(to, self.bad_lines);
	close(self.dir_fd);
	free(self.numbers);
	free(self.gaps);
	arena_free(&self.arena);
	buffer_free(&self.line);
	return self.err;
}
