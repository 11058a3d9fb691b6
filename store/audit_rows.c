/* An account's rows of one table, read raw, so that a malformed one hides none of the others. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"
#include "store/file.h"

#include <stdarg.h>
#include <stdio.h>

enum { SUM_BYTES = 4, SIZE_BYTES = 4, NUMBER_BYTES = 4, PART_NUMBER_BYTES = 2 };

static const char *const names[TABLE_END] = {
#define T(id, NAME, name, kind) [id] = name,
#include "store/tables.def"
#undef T
};

bool audit_is_fault(enum err err)
{
	return err == ERR_NOT_FOUND || err == ERR_DAMAGED;
}

void audit_fault(struct auditor *auditor, enum table table, const char *format, ...)
{
	char    text[FAULT_TEXT];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fault(auditor->faults, "table %s, account %s: %.140s", names[table], auditor->account_text, text);
}

enum err audit_row(struct auditor *auditor, struct audit_rows *rows)
{
	struct row_key prefix = key_account(auditor->account);
	enum err       err;
	if (rows->kept) {
		rows->kept = false;
		return OK;
	}
	err = rows->begun ? view_raw_next(auditor->reader, rows->table, &rows->row)
	                  : view_raw_from(auditor->reader, rows->table, key_span(&prefix), &rows->row);
	rows->begun = true;
	if (err) return err;
	struct span key = rows->row.key, stored = rows->row.stored;
	if (!key_has_prefix(key, key_span(&prefix))) return ERR_NOT_FOUND;
	rows->rest = span_of(key.at + prefix.size, key.size - prefix.size);
	rows->value = span_of(stored.at, stored.size < SUM_BYTES ? 0 : stored.size - SUM_BYTES);
	auditor->audit->rows++;
	return progress_step(auditor->progress, key.size + stored.size) ? OK : ERR_STOPPED;
}

/* What a judge returned: `err`, but a wrong form is a fault. */
static enum err judged(struct auditor *auditor, enum table table, enum err err)
{
	if (err != ERR_MALFORMED) return err;
	audit_fault(auditor, table, "a row of a wrong form");
	return OK;
}

enum err audit_each(struct auditor *auditor, enum table table, audit_judge *judge, void *context)
{
	struct audit_rows rows = {.table = table, .context = context};
	enum err          err;
	while (!(err = audit_row(auditor, &rows)))
		if ((err = judged(auditor, table, judge(auditor, &rows)))) return err;
	return err == ERR_NOT_FOUND ? OK : err;
}

static size_t key_size(const struct audit_rows *rows)
{
	return rows->key_size ? rows->key_size : NUMBER_BYTES;
}

static bool is_part(const struct audit_rows *rows, const struct audit_whole *of, unsigned part)
{
	size_t size = key_size(rows);
	return rows->rest.size == size + PART_NUMBER_BYTES && !memcmp(rows->rest.at, of->key, size) &&
	       get_be16(rows->rest.at + size) == part;
}

/* The first part, which contains the size of the whole. */
static bool begin_whole(struct auditor *auditor, struct audit_rows *rows, struct audit_whole *found,
                        size_t *total)
{
	struct span value = rows->value;
	size_t      size = key_size(rows);
	must(size >= NUMBER_BYTES && size <= AUDIT_KEY_MAX);
	if (rows->rest.size != size + PART_NUMBER_BYTES) {
		audit_fault(auditor, rows->table, "a key of %zu bytes", rows->row.key.size);
		return false;
	}
	memcpy(found->key, rows->rest.at, size);
	found->number = get_be32(found->key);
	if (!is_part(rows, found, 0)) {
		audit_fault(auditor, rows->table, "number %u: part %u without the one before", found->number,
		            get_be16(rows->rest.at + size));
		return false;
	}
	*total = value.size < SIZE_BYTES ? SIZE_MAX : get_le32(value.at);
	if (*total > PASS_STORED_BYTES_MAX || value.size - SIZE_BYTES > *total) {
		audit_fault(auditor, rows->table, "number %u: its size is wrong", found->number);
		return false;
	}
	buffer_clear(&auditor->whole);
	buffer_append(&auditor->whole, value.at + SIZE_BYTES, value.size - SIZE_BYTES);
	return true;
}

enum err audit_whole(struct auditor *auditor, struct audit_rows *rows, struct audit_whole *found)
{
	size_t   total;
	enum err err = audit_row(auditor, rows);
	found->whole = false;
	if (err || !begin_whole(auditor, rows, found, &total)) return err;
	for (unsigned part = 1; auditor->whole.size < total && !auditor->whole.failed; part++) {
		if ((err = audit_row(auditor, rows)) && err != ERR_NOT_FOUND) return err;
		bool follows = !err && is_part(rows, found, part);
		if (!follows || rows->value.size == 0 || rows->value.size > total - auditor->whole.size) {
			audit_fault(auditor, rows->table, "number %u: part %u is missing or wrong",
			            found->number, part);
			rows->kept = !err && !follows;
			return OK;
		}
		buffer_append(&auditor->whole, rows->value.at, rows->value.size);
	}
	if (auditor->whole.failed) return ERR_NO_MEMORY;
	found->value = buffer_span(&auditor->whole);
	found->whole = true;
	return OK;
}

enum err audit_each_whole(struct auditor *auditor, enum table table, size_t size, audit_judge_whole *judge,
                          void *context)
{
	struct audit_rows  rows = {.table = table, .key_size = size};
	struct audit_whole found = {.context = context};
	enum err           err;
	while (!(err = audit_whole(auditor, &rows, &found)))
		if (found.whole && (err = judged(auditor, table, judge(auditor, &found)))) return err;
	return err == ERR_NOT_FOUND ? OK : err;
}

struct version_seen *audit_version(const struct auditor *auditor, uint32_t family, uint32_t version)
{
	struct version_seen *seen = (struct version_seen *)(void *)auditor->versions.at;
	size_t               low = 0, high = auditor->versions.size / sizeof *seen, count = high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		bool   before = seen[middle].family < family ||
		              (seen[middle].family == family && seen[middle].version < version);
		if (before)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < count && seen[low].family == family && seen[low].version == version;
	return found ? &seen[low] : NULL;
}
