/* The rows of one table in key order, read raw: a malformed one hides none of the others. */
#include "store/dump_inside.h"

#include "schemas/bytes.h"
#include "store/db_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_BYTES = 4, PART_KEY_BYTES = 2 };

struct dumping {
	const struct dump_to *to;
	struct view          *reader;
	enum table            table;
	struct span           prefix;
	bool                  ended; /* the receiver wants no more lines */
	bool                  bad;   /* the current line shows damage */
	uint64_t              bad_lines;
	struct buffer         line, whole;
	/* The PARTED value being joined: its key, its size, the number of parts so far. */
	uint8_t  key[KEY_BYTES_MAX];
	size_t   key_size, total;
	unsigned parts;
	bool     open, damaged;
};

static void begin_line(struct dumping *self, struct span key)
{
	buffer_clear(&self->line);
	buffer_byte(&self->line, '{');
	dump_word(&self->line, "table", table_name(self->table));
	buffer_text(&self->line, ",\"key\":");
	self->bad = !dump_key(self->table, key, &self->line);
}

static enum err end_line(struct dumping *self)
{
	buffer_text(&self->line, "}\n");
	if (self->line.failed) return ERR_NO_MEMORY;
	self->bad_lines += self->bad;
	self->ended = !self->to->line(self->to->user, buffer_span(&self->line));
	return OK;
}

static enum err show_value(struct dumping *self, struct span key, struct span value)
{
	begin_line(self, key);
	buffer_text(&self->line, ",\"value\":");
	if (!dump_value(self->table, key, value, &self->line)) self->bad = true;
	return end_line(self);
}

static enum err show_damage(struct dumping *self, struct span key, const char *what, size_t size)
{
	begin_line(self, key);
	dump_word(&self->line, "damaged", what);
	self->bad = true;
	dump_count(&self->line, "hidden_bytes", size);
	return end_line(self);
}

/* Parts ----------------------------------------------------------------------------------------------------- */

/* The current value has no more parts. */
static enum err end_whole(struct dumping *self)
{
	struct span key = span_of(self->key, self->key_size);
	if (!self->open) return OK;
	self->open = false;
	if (self->whole.failed) return ERR_NO_MEMORY;
	if (self->damaged) return show_damage(self, key, "a part's checksum does not hold", self->whole.size);
	if (!self->parts || self->whole.size != self->total)
		return show_damage(self, key, "a part is missing, or too much", self->whole.size);
	return show_value(self, key, buffer_span(&self->whole));
}

static void add_part(struct dumping *self, unsigned number, struct span value)
{
	if (number != self->parts) self->damaged = true;
	if (number == 0) {
		if (value.size < SIZE_BYTES) {
			self->damaged = true;
			return;
		}
		self->total = get_le32(value.at);
		value = span_of(value.at + SIZE_BYTES, value.size - SIZE_BYTES);
	}
	self->parts++;
	buffer_append(&self->whole, value.at, value.size);
}

static enum err take_part(struct dumping *self, const struct raw_row *row, bool holds)
{
	size_t   size = row->key.size < PART_KEY_BYTES ? 0 : row->key.size - PART_KEY_BYTES;
	bool     same = self->open && size == self->key_size && !memcmp(self->key, row->key.at, size);
	enum err err = same ? OK : end_whole(self);
	if (err || self->ended) return err;
	if (!size || size > sizeof self->key)
		return show_damage(self, row->key, "a key of a wrong size", row->stored.size);
	if (!same) {
		buffer_clear(&self->whole);
		memcpy(self->key, row->key.at, size);
		self->key_size = size;
		self->total = self->parts = 0;
		self->open = true;
		self->damaged = false;
	}
	if (!holds)
		self->damaged = true;
	else
		add_part(self, get_be16(row->key.at + size),
		         span_of(row->stored.at, row->stored.size - CRC_BYTES));
	return OK;
}

/* Rows ------------------------------------------------------------------------------------------------------ */

static enum err take_row(struct dumping *self, const struct raw_row *row)
{
	bool holds = row->stored.size >= CRC_BYTES && raw_row_holds(self->table, row);
	if (table_kind(self->table) == KIND_PARTED) return take_part(self, row, holds);
	if (!holds) return show_damage(self, row->key, "its checksum does not hold", row->stored.size);
	return show_value(self, row->key, span_of(row->stored.at, row->stored.size - CRC_BYTES));
}

static enum err walk(struct dumping *self)
{
	struct raw_row row;
	enum err       err = view_raw_from(self->reader, self->table, self->prefix, &row);
	while (!err && !self->ended && key_has_prefix(row.key, self->prefix)) {
		if ((err = take_row(self, &row))) return err;
		if (!self->ended) err = view_raw_next(self->reader, self->table, &row);
	}
	if (err && err != ERR_NOT_FOUND) return err;
	return self->ended ? OK : end_whole(self);
}

/* A shard's own tables, or those of a snapshot's or backup's directory. */
static enum err open_tables(int shard_fd, struct db **db)
{
	struct stat st;
	int         fd = openat(shard_fd, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int         at = fd < 0 ? shard_fd : fd;
	enum err    err = fd < 0 && errno != ENOENT ? ERR_IO : OK;
	if (!err && fstatat(at, "data.mdb", &st, 0)) err = errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
	if (!err && !S_ISREG(st.st_mode)) err = ERR_DAMAGED; /* a pipe would never end */
	if (!err) err = db_open_still(at, db);
	if (fd >= 0) close(fd);
	return err;
}

static enum err judge_version(const struct dumping *self)
{
	struct applied at;
	enum err       err = db_applied(self->reader, &at);
	if (err != ERR_UNSUPPORTED) return OK; /* damage is shown row by row */
	if (self->to->why) db_refusal(self->reader, "data.mdb", self->to->why);
	return err;
}

enum err dump_table(int shard_fd, enum table table, struct span prefix, const struct dump_to *to)
{
	struct dumping self = {.to = to, .table = table, .prefix = prefix};
	struct arena   arena = {0};
	struct db     *db = NULL;
	enum err       err = open_tables(shard_fd, &db);
	if (!err) err = db_reader_open(db, &arena, &self.reader);
	if (!err && !(err = db_reader_begin(self.reader))) {
		if (!(err = judge_version(&self))) err = walk(&self);
		db_reader_end(self.reader);
	}
	if (!err && !self.ended) err = dump_end(to, self.bad_lines);
	db_reader_close(&self.reader);
	db_close(&db);
	arena_free(&arena);
	buffer_free(&self.line);
	buffer_free(&self.whole);
	return err;
}
