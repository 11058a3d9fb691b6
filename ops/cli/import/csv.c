/* CSV rows, and their meaning. libcsv finds the cells. This file collects them into a JSON body, which is then checked by the
 * code for all bodies.
 *
 * libcsv reads a stream. It gets one line at a time, so that the bytes of each row in the file are known. */
#include "ops/cli/import/csv.h"
#include "schemas/json.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

/* libcsv's cell grows by this much; with its default of 128 bytes, a long cell takes quadratic time. */
enum { CELL_STEP_BYTES = 64 << 10 };

enum { NAME_SHOWN_BYTES = 100 }; /* of a column's name in a message */

/* ---- rows ---- */

static int is_never_space(unsigned char byte)
{
	(void)byte;
	return 0; /* libcsv would trim cells */
}

static void on_cell(void *bytes, size_t size, void *user)
{
	struct csv_row *row = user;

	row->beyond |= row->ended > 0;
	if (row->count < CSV_COLUMNS_MAX) {
		buffer_append(&row->text, bytes, size);
		row->ends[row->count] = row->text.size;
	}
	row->count++;
}

static void on_row(int terminator, void *user)
{
	struct csv_row *row = user;

	(void)terminator;
	row->ended++;
}

enum err csv_open(struct csv_row *row)
{
	*row = (struct csv_row){.inside = true};
	return csv_begin(row);
}

void csv_close(struct csv_row *row)
{
	csv_free(&row->parser);
	buffer_free(&row->text);
	arena_free(&row->arena);
}

static enum err parser_begin(struct csv_row *row)
{
	csv_free(&row->parser);
	if (csv_init(&row->parser, CSV_STRICT | CSV_STRICT_FINI)) return ERR_NO_MEMORY;
	csv_set_space_func(&row->parser, is_never_space);
	csv_set_blk_size(&row->parser, CELL_STEP_BYTES);
	row->inside = false;
	return OK;
}

enum err csv_begin(struct csv_row *row)
{
	buffer_clear(&row->text);
	row->count = 0;
	row->ended = 0;
	row->beyond = false;
	return row->inside ? parser_begin(row) : OK;
}

enum err csv_begin_quoted(struct csv_row *row)
{
	enum err err;

	row->inside = true; /* of the dropped row */
	if (!(err = csv_begin(row)) && csv_parse(&row->parser, "\"", 1, on_cell, on_row, row) != 1)
		err = ERR_NO_MEMORY;
	return err;
}

enum err csv_line(struct csv_row *row, struct span line, bool is_last, bool *whole)
{
	struct csv_parser *parser = &row->parser;

	*whole = false;
	row->inside = true;
	if (csv_parse(parser, line.at, line.size, on_cell, on_row, row) != line.size) goto failed;
	if (is_last && csv_fini(parser, on_cell, on_row, row)) goto failed;
	if (row->text.failed) return ERR_NO_MEMORY;
	*whole = row->ended > 0;
	row->inside = !*whole || row->ended > 1 || row->beyond;
	/* A lone CR has ended a row in the middle of the line. */
	return *whole && row->inside ? ERR_INVALID_REQUEST : OK;
failed:
	return csv_error(parser) == CSV_EPARSE ? ERR_INVALID_REQUEST : ERR_NO_MEMORY;
}

struct span csv_cell(const struct csv_row *row, uint32_t index)
{
	size_t from = index ? row->ends[index - 1] : 0;

	return span_of(row->text.at + from, row->ends[index] - from);
}

bool csv_is_empty(const struct csv_row *row)
{
	return row->count <= CSV_COLUMNS_MAX && row->text.size == 0;
}

/* ---- columns ---- */

static enum err blame(const char *what, struct span name, char why[256])
{
	name = utf8_cut(name, NAME_SHOWN_BYTES);
	snprintf(why, 256, "The column \"%.*s\" %s.", (int)name.size, (const char *)name.at, what);
	return ERR_INVALID_INPUT;
}

/* Removes `prefix` from the front of a name. */
static bool has_prefix(struct span *name, const char *prefix)
{
	size_t size = strlen(prefix);

	if (name->size <= size || memcmp(name->at, prefix, size)) return false;
	*name = span_of(name->at + size, name->size - size);
	return true;
}

static enum err read_visible(const struct template *template, struct span key, struct csv_column *column,
                             const char **what)
{
	const struct template_field *field = template_field(template, key);

	*what = "is not a field of the template";
	if (!field) return ERR_INVALID_INPUT;
	*what = "is a locked field of the template: a counter cannot be written";
	if (field->locked) return ERR_INVALID_INPUT;
	column->kind = field->kind == FIELD_NUMBER    ? CSV_NUMBER
	               : field->kind == FIELD_BOOLEAN ? CSV_BOOLEAN
	                                              : CSV_TEXT;
	return OK;
}

static enum err read_column(const struct template *template, struct span name, struct csv_column *column,
                            struct span *key, const char **what)
{
	*key = name;
	*what = "is unknown: pass_id, visible.KEY, hidden.KEY and initial_platform are known";
	if (has_prefix(key, "visible.")) return read_visible(template, *key, column, what);
	column->kind = CSV_HIDDEN;
	if (has_prefix(key, "hidden.")) return OK;
	column->kind = CSV_PASS_ID;
	if (span_is(name, "pass_id")) return OK;
	column->kind = CSV_PLATFORM;
	return span_is(name, "initial_platform") ? OK : ERR_INVALID_INPUT;
}

/* In a table with other separators, many columns look like one. */
static bool has_other_separators(struct span name)
{
	return name.size && (memchr(name.at, ';', name.size) || memchr(name.at, '\t', name.size));
}

static bool is_twice(const struct csv_row *header, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (span_equal(csv_cell(header, i), csv_cell(header, index))) return true;
	return false;
}

enum err csv_columns_read(struct csv_columns *columns, const struct csv_row *header,
                          const struct template *template, char              why[256])
{
	bool has_pass_id = false;

	*columns = (struct csv_columns){.count = header->count, .width = header->count};
	if (header->count > CSV_COLUMNS_MAX) {
		snprintf(why, 256, "The header has more than %d columns.", CSV_COLUMNS_MAX);
		return ERR_INVALID_INPUT;
	}
	while (columns->count && csv_cell(header, columns->count - 1).size == 0)
		columns->count--;
	for (uint32_t i = 0; i < columns->count; i++) {
		struct csv_column *column = &columns->of[i];
		struct span        name = csv_cell(header, i), key;
		const char        *what;
		column->kind = CSV_NOTHING;
		if (name.size == 0) continue;
		if (!utf8_is_valid(name)) {
			snprintf(
			    why, 256,
			    "The header is not UTF-8 text. Was the file saved as Latin-1 or Windows-1252?");
			return ERR_INVALID_INPUT;
		}
		enum err err = read_column(template, name, column, &key, &what);
		/* A single column other than pass_id cannot be meant, whatever its prefix. */
		if ((err || header->count == 1) && has_other_separators(name))
			return blame("is unknown: cells are separated by commas, not by semicolons or tabs",
			             name, why);
		if (err) return blame(what, name, why);
		if (is_twice(header, i)) return blame("is there twice", name, why);
		has_pass_id |= column->kind == CSV_PASS_ID;
		column->at = columns->names.size;
		column->size = key.size;
		buffer_append(&columns->names, key.at, key.size);
	}
	if (columns->names.failed) return ERR_NO_MEMORY;
	if (has_pass_id) return OK;
	snprintf(why, 256, "The column \"pass_id\" is missing from the header.");
	return ERR_INVALID_INPUT;
}

enum err csv_check(const struct csv_columns *columns, const struct csv_row *row, char why[256])
{
	if (row->count < columns->count || row->count > columns->width) {
		snprintf(why, 256, "The row has %u cells, the header has %u.", row->count, columns->width);
		return ERR_INVALID_REQUEST;
	}
	for (uint32_t i = 0; i < row->count; i++) {
		bool is_named = i < columns->count && columns->of[i].kind != CSV_NOTHING;
		if (is_named || csv_cell(row, i).size == 0) continue;
		snprintf(why, 256,
		         "Cell %u of the row is not empty, but the header has no name for its column.",
		         i + 1);
		return ERR_INVALID_REQUEST;
	}
	return OK;
}

void csv_columns_free(struct csv_columns *columns)
{
	buffer_free(&columns->names);
}

/* ---- a row as a body ---- */

/* Decided by the parser that will read the body. */
static bool is_number(struct span text, struct arena *arena)
{
	struct json *value;

	arena_reset(arena);
	return !json_parse(text, arena, &value) && value->kind == JSON_NUMBER &&
	       value->text.size == text.size;
}

static bool is_word(struct span text, const char *word)
{
	size_t size = strlen(word);

	return text.size == size && !strncasecmp((const char *)text.at, word, size);
}

static void write_value(struct csv_row *row, enum csv_kind kind, struct span cell, struct buffer *json)
{
	if (kind == CSV_NUMBER && is_number(cell, &row->arena))
		buffer_append(json, cell.at, cell.size);
	else if (kind == CSV_BOOLEAN && is_word(cell, "true")) /* spreadsheets write TRUE */
		buffer_text(json, "true");
	else if (kind == CSV_BOOLEAN && is_word(cell, "false"))
		buffer_text(json, "false");
	else
		json_quote(cell, json);
}

static void write_name(struct span name, struct buffer *json)
{
	if (json->at[json->size - 1] != '{') buffer_byte(json, ',');
	json_quote(name, json);
	buffer_byte(json, ':');
}

/* Writes the hidden columns (`first` CSV_HIDDEN) or the visible ones (CSV_TEXT to CSV_BOOLEAN) as an object, unless it is
 * empty. */
static void write_object(const struct csv_columns *columns, struct csv_row *row, enum csv_kind first,
                         struct buffer *json)
{
	enum csv_kind last = first == CSV_HIDDEN ? CSV_HIDDEN : CSV_BOOLEAN;
	bool          begun = false;

	for (uint32_t i = 0; i < columns->count; i++) {
		const struct csv_column *column = &columns->of[i];
		struct span              cell = csv_cell(row, i);
		if (column->kind < first || column->kind > last || cell.size == 0) continue;
		if (!begun) {
			write_name(span_str(first == CSV_HIDDEN ? "hidden" : "visible"), json);
			buffer_byte(json, '{');
			begun = true;
		}
		write_name(span_of(columns->names.at + column->at, column->size), json);
		write_value(row, column->kind, cell, json);
	}
	if (begun) buffer_byte(json, '}');
}

void csv_body(const struct csv_columns *columns, struct csv_row *row, struct buffer *json)
{
	buffer_byte(json, '{');
	for (uint32_t i = 0; i < columns->count && !json->failed; i++) {
		enum csv_kind kind = columns->of[i].kind;
		struct span   cell = csv_cell(row, i);
		if (cell.size == 0 || (kind != CSV_PASS_ID && kind != CSV_PLATFORM)) continue;
		write_name(span_str(kind == CSV_PASS_ID ? "pass_id" : "initial_platform"), json);
		json_quote(cell, json);
	}
	if (json->failed) return;
	write_object(columns, row, CSV_TEXT, json);
	write_object(columns, row, CSV_HIDDEN, json);
	buffer_byte(json, '}');
}
