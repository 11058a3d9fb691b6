/* Rows in a hash table, and the sum of their marks. A row's mark is a hash of table, key and value; equal
 * sums of different rows are as likely as guessing 64 bits. */
#include "tests/crash/contents.h"

#include "schemas/arena.h"
#include "schemas/bytes.h"
#include "store/idempotency.h"
#include "store/keys.h"
#include "store/ledger.h"
#include "store/record.h"
#include "store/tally.h"

#include <stdlib.h>

enum { BUCKETS = 4096, CRC_BYTES = 4, TOTAL_BYTES = 4, PART_KEY_BYTES = 2 };

struct row {
	struct row *next;
	enum table  table;
	size_t      key_size, size;
	uint8_t    *value;
	uint8_t     key[];
};

struct contents {
	struct row *buckets[BUCKETS];
	uint64_t    digest;
};

static const enum table_kind kinds[TABLE_END] = {
#define T(id, NAME, name, kind) [id] = KIND_##kind,
#include "store/tables.def"
#undef T
};

static uint64_t mix(uint64_t hash, struct span bytes)
{
	for (size_t i = 0; i < bytes.size; i += 8) {
		uint64_t word = 0;
		memcpy(&word, bytes.at + i, bytes.size - i < 8 ? bytes.size - i : 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 29;
	}
	return (hash ^ bytes.size) * 0xbf58476d1ce4e5b9;
}

static uint64_t mark_of(enum table table, struct span key, struct span value)
{
	uint64_t hash = mix(mix((uint64_t)table + 1, key), value);
	return hash ^ hash >> 31;
}

static bool is_counted(enum table table, struct span key)
{
	return table != TABLE_META || (!span_is(key, "applied") && !span_is(key, "late"));
}

struct contents *contents_new(void)
{
	struct contents *contents = calloc(1, sizeof *contents);
	must(contents);
	return contents;
}

void contents_clear(struct contents *contents)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct row *row = contents->buckets[i], *next; row; row = next) {
			next = row->next;
			free(row->value);
			free(row);
		}
	memset(contents, 0, sizeof *contents);
}

void contents_free(struct contents **contents)
{
	if (*contents) contents_clear(*contents);
	free(*contents);
	*contents = NULL;
}

/* The link to the row, or the place for it. */
static struct row **find(struct contents *contents, enum table table, struct span key)
{
	struct row **at = &contents->buckets[mark_of(table, key, span_of(NULL, 0)) % BUCKETS];
	while (*at && ((*at)->table != table || !span_equal(span_of((*at)->key, (*at)->key_size), key)))
		at = &(*at)->next;
	return at;
}

static struct row *row_make(struct row **at, enum table table, struct span key)
{
	struct row *row = calloc(1, sizeof *row + key.size);
	must(row);
	row->table = table;
	row->key_size = key.size;
	memcpy(row->key, key.at, key.size);
	return *at = row;
}

static void row_change(struct row *row, const struct write *write)
{
	if (write->kind == WRITE_PUT) {
		must((row->value = realloc(row->value, write->value.size + 1)));
		if (write->value.size) memcpy(row->value, write->value.at, write->value.size);
		row->size = write->value.size;
	}
	for (unsigned i = 0; i < write->patch_count; i++) {
		must((size_t)write->patches[i].offset + write->patches[i].size <= row->size);
		memcpy(row->value + write->patches[i].offset, write->patches[i].bytes,
		       write->patches[i].size);
	}
}

static void apply_one(struct contents *contents, const struct write *write)
{
	struct row **at = find(contents, write->table, write->key), *row = *at;
	if (row) contents->digest -= mark_of(write->table, write->key, span_of(row->value, row->size));
	if (write->kind == WRITE_DEL) {
		if (!row) return;
		*at = row->next;
		free(row->value);
		free(row);
		return;
	}
	must(row || write->kind == WRITE_PUT);
	if (!row) row = row_make(at, write->table, write->key);
	row_change(row, write);
	contents->digest += mark_of(write->table, write->key, span_of(row->value, row->size));
}

void contents_apply(struct contents *contents, struct span operations)
{
	struct arena arena = {0};
	struct write write;
	enum err     err;
	while (!(err = record_next(&operations, &arena, &write)))
		apply_one(contents, &write);
	must(err == ERR_NOT_FOUND);
	arena_free(&arena);
}

uint64_t contents_digest(const struct contents *contents)
{
	return contents->digest;
}

/* Joins the parts of one value, beginning with `row`. Afterwards *row is the next row. */
static enum err join(struct view *reader, enum table table, struct raw_row *row, struct buffer *key,
                     struct buffer *value)
{
	enum err err = OK;
	size_t   total = 0;
	buffer_clear(key);
	buffer_clear(value);
	for (unsigned part = 0; !err; part++) {
		struct span stored = row->stored;
		size_t      size = row->key.size - PART_KEY_BYTES;
		if (row->key.size < PART_KEY_BYTES || get_be16(row->key.at + size) != part)
			return ERR_DAMAGED;
		if (part == 0) {
			buffer_append(key, row->key.at, size);
			if (stored.size < TOTAL_BYTES + CRC_BYTES) return ERR_DAMAGED;
			total = get_le32(stored.at);
			stored = span_of(stored.at + TOTAL_BYTES, stored.size - TOTAL_BYTES);
		}
		if (stored.size < CRC_BYTES || !span_equal(buffer_span(key), span_of(row->key.at, size)))
			return ERR_DAMAGED;
		buffer_append(value, stored.at, stored.size - CRC_BYTES);
		err = view_raw_next(reader, table, row);
		if (value->size >= total) break;
	}
	if (value->size != total) return ERR_DAMAGED;
	return err;
}

static enum err each_of(struct view *reader, enum table table, contents_row visit, void *user)
{
	struct buffer  key = {0}, value = {0};
	struct raw_row row;
	enum err       err = view_raw_from(reader, table, span_of(NULL, 0), &row);
	while (!err) {
		if (!raw_row_holds(table, &row)) {
			err = ERR_DAMAGED;
		} else if (kinds[table] == KIND_PARTED) {
			err = join(reader, table, &row, &key, &value);
			if (!err || err == ERR_NOT_FOUND)
				visit(user, table, buffer_span(&key), buffer_span(&value));
		} else {
			if (is_counted(table, row.key))
				visit(user, table, row.key,
				      span_of(row.stored.at, row.stored.size - CRC_BYTES));
			err = view_raw_next(reader, table, &row);
		}
	}
	buffer_free(&key);
	buffer_free(&value);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err visit_one(struct view *reader, enum table table, const struct row_key *key,
                          contents_row visit, void *user)
{
	struct span value;
	enum err    err = view_get(reader, table, key_span(key), &value);
	if (!err) visit(user, table, key_span(key), value);
	return err;
}

static enum err each_late_of(struct view *reader, struct account_id account, uint32_t made,
                             contents_row visit, void *user)
{
	uint64_t last;
	enum err err = ledger_last(reader, account, &last);
	for (uint32_t i = 0; !err && i * HOT_PASSES < made; i++) {
		struct row_key key = key_u32(account, i);
		err = visit_one(reader, TABLE_HOT, &key, visit, user);
	}
	for (uint64_t seq = 1; !err && seq <= last; seq++) {
		struct row_key key = key_u64(account, seq);
		err = visit_one(reader, TABLE_LEDGER, &key, visit, user);
	}
	return err;
}

/* Rows of late tables are as the view shows them: the newest lie in memory. How many passes there are, the tallies say. */
static enum err each_late(struct view *reader, contents_row visit, void *user)
{
	struct raw_row row;
	struct tally   tally;
	enum err       err = view_raw_from(reader, TABLE_TALLY, span_of(NULL, 0), &row);
	for (; !err; err = view_raw_next(reader, TABLE_TALLY, &row)) {
		struct account_id account;
		if (row.key.size != sizeof account || row.stored.size < CRC_BYTES) return ERR_DAMAGED;
		memcpy(account.b, row.key.at, sizeof account);
		err = tally_read(span_of(row.stored.at, row.stored.size - CRC_BYTES), &tally);
		if (!err) err = each_late_of(reader, account, tally.made, visit, user);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static struct row_key key_of_hash(struct account_id account, const uint8_t hash[32])
{
	struct row_key key = key_account(account);
	memcpy(key.bytes + key.size, hash, 32);
	key.size += 32;
	return key;
}

/* The idempotency keys that the order names, and any others that the writer finds: rows that were deleted must not come back. */
static enum err each_key_in_order(struct view *reader, struct view *writer, contents_row visit, void *user)
{
	struct raw_row           row;
	struct idempotency_order place;
	struct account_id        account;
	enum err                 err = view_raw_from(reader, TABLE_IDEMPOTENCY_ORDER, span_of(NULL, 0), &row);
	for (; !err; err = view_raw_next(reader, TABLE_IDEMPOTENCY_ORDER, &row)) {
		memcpy(account.b, row.key.at, sizeof account);
		err = idempotency_order_read(span_of(row.stored.at, row.stored.size - CRC_BYTES), &place);
		if (err) return err;
		struct row_key key = key_of_hash(account, place.key);
		err = visit_one(writer, TABLE_IDEMPOTENCY, &key, visit, user);
		if (err && err != ERR_NOT_FOUND) return err;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static bool is_in_order(struct view *writer, struct account_id account, struct span key, struct span value)
{
	struct idempotency_row   row;
	struct idempotency_order place;
	if (idempotency_row_read(value, &row)) return false;
	struct row_key at = key_u64(account, row.order);
	if (view_get(writer, TABLE_IDEMPOTENCY_ORDER, key_span(&at), &value)) return false;
	return !idempotency_order_read(value, &place) &&
	       !memcmp(place.key, key.at + sizeof account, sizeof place.key);
}

static enum err each_other_key(struct view *reader, struct view *writer, contents_row visit, void *user)
{
	struct raw_row    row;
	struct account_id account;
	struct span       value;
	enum err          err = view_raw_from(reader, TABLE_IDEMPOTENCY, span_of(NULL, 0), &row);
	for (; !err; err = view_raw_next(reader, TABLE_IDEMPOTENCY, &row)) {
		memcpy(account.b, row.key.at, sizeof account);
		err = view_get(writer, TABLE_IDEMPOTENCY, row.key, &value);
		if (!err && !is_in_order(writer, account, row.key, value))
			visit(user, TABLE_IDEMPOTENCY, row.key, value);
		if (err && err != ERR_NOT_FOUND) return err;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err each_key(struct view *reader, struct view *writer, contents_row visit, void *user)
{
	if (!writer) return each_of(reader, TABLE_IDEMPOTENCY, visit, user);
	enum err err = each_key_in_order(reader, writer, visit, user);
	return err ? err : each_other_key(reader, writer, visit, user);
}

enum err contents_each(struct view *reader, struct view *writer, contents_row row, void *user)
{
	enum err err = each_late(reader, row, user);
	if (!err) err = each_key(reader, writer, row, user);
#define T(id, NAME, name, kind) \
	if (!err && !table_is_late(TABLE_##NAME)) err = each_of(reader, TABLE_##NAME, row, user);
#include "store/tables.def"
#undef T
	return err;
}

static void add_mark(void *user, enum table table, struct span key, struct span value)
{
	*(uint64_t *)user += mark_of(table, key, value);
}

enum err contents_of_view(struct view *reader, struct view *writer, uint64_t *digest)
{
	*digest = 0;
	return contents_each(reader, writer, add_mark, digest);
}
