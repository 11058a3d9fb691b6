/* The rows of a file. An unreadable CSV row ends with the line that shows the fault, and the next line begins a new row. So an
 * unclosed quote costs the rows up to the next quote, not the rest of the file. The same holds for a row with a line that is
 * too long, in which quotes are not searched. */
#include "ops/cli/import/rows.h"

#include <stdio.h>

static bool is_blank(struct span line)
{
	for (size_t i = 0; i < line.size; i++)
		if (line.at[i] != ' ' && line.at[i] != '\t' && line.at[i] != '\r') return false;
	return true;
}

static void fault(struct rows *rows, struct row_read *row, enum err err, const char *why)
{
	row->err = err;
	snprintf(rows->why, sizeof rows->why, "%s", why);
}

/* The fault of a row with many lines is often near its end, so the message has its range. */
static void fault_lines(struct rows *rows, struct row_read *row, uint64_t last, enum err err, const char *why)
{
	fault(rows, row, err, why);
	size_t size = strlen(rows->why);
	if (last == row->place.line) return;
	snprintf(rows->why + size, sizeof rows->why - size, " The row reaches from line %llu to line %llu.",
	         (unsigned long long)row->place.line, (unsigned long long)last);
}

const char *row_fault(struct span body)
{
	if (!utf8_is_valid(body))
		return "The row is not UTF-8 text. Was the file saved as Latin-1 or Windows-1252?";
	if (body.size && memchr(body.at, '\r', body.size - 1))
		return "There are carriage returns (CR) within the line: a line ends with LF or CRLF.";
	return NULL;
}

static enum err next_line(struct rows *rows, struct row_read *row)
{
	struct feed_line line;
	enum err         err;

	do
		if ((err = feed_next(&rows->feed, &line))) return err;
	while (!line.is_too_long && is_blank(line.text));
	row->place = (struct row_place){line.number, line.at, line.size};
	row->body = line.text;
	if (line.is_too_long) fault(rows, row, ERR_PAYLOAD_TOO_LARGE, "The line is longer than 16 MiB.");
	return OK;
}

/* ---- CSV ---- */

/* Adds the current line, with the LF after its text. */
static enum err add_line(struct rows *rows, const struct feed_line *line, bool *whole)
{
	struct span text = line->text;

	if (line->ends_with_lf) text.size++;
	return csv_line(&rows->cells, text, !line->ends_with_lf, whole);
}

/* Collects the lines of one row. If it is too long, only its end is searched. */
static enum err read_cells(struct rows *rows, struct row_read *row)
{
	struct feed_line line;
	uint64_t         last = 0; /* the row's last line so far; 0: it has not begun */
	bool             whole = false;
	enum err         err = csv_begin(&rows->cells);

	while (!err && !whole) {
		err = feed_next(&rows->feed, &line);
		if (err == ERR_NOT_FOUND && last) break; /* inside quotes: reported below */
		if (err) return err;
		if (!last && !line.is_too_long && is_blank(line.text)) continue;
		if (!last) row->place = (struct row_place){.line = line.number, .at = line.at};
		last = line.number;
		row->place.size = line.at + line.size - row->place.at;
		if (row->place.size > IMPORT_ROW_BYTES_MAX)
			fault_lines(rows, row, last, ERR_PAYLOAD_TOO_LARGE,
			            "The row is longer than 16 MiB. Is a quote not closed, or a line ended "
			            "without LF?");
		if (line.is_too_long) return OK;
		rows->has_other_separator = memmem(line.text.at, line.text.size, "\";", 2) ||
		                            memmem(line.text.at, line.text.size, "\"\t", 2);
		err = add_line(rows, &line, &whole);
		if (!err && !whole && row->err) err = csv_begin_quoted(&rows->cells);
	}
	if (err == ERR_NO_MEMORY || err == OK) return err;
	if (row->err) return OK;
	if (rows->cells.ended)
		fault(
		    rows, row, ERR_INVALID_REQUEST,
		    "A carriage return (CR) alone stands at the end of a row: a line ends with LF or CRLF.");
	else
		fault_lines(rows, row, last, ERR_INVALID_REQUEST,
		            "The row is not CSV: a quote is not closed, or stands within a cell without "
		            "being doubled.");
	return OK;
}

static bool repeats_header(const struct rows *rows)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of a file that was appended */
	struct span       text = buffer_span(&rows->cells.text), header = buffer_span(&rows->header);

	if (text.size == header.size + strlen(mark) && !memcmp(text.at, mark, strlen(mark)))
		text = span_of(text.at + strlen(mark), header.size);
	return rows->cells.count == rows->header_cells && text.size == header.size &&
	       !memcmp(text.at, header.at, header.size);
}

static enum err next_cells(struct rows *rows, struct row_read *row)
{
	char     why[256];
	enum err err;

	do
		if ((err = read_cells(rows, row)) || row->err) return err;
	while (csv_is_empty(&rows->cells)); /* spreadsheets export empty rows like this */
	if (repeats_header(rows)) {
		fault(rows, row, ERR_INVALID_REQUEST,
		      "The row repeats the header. Were several files joined into this one?");
		return OK;
	}
	if ((err = csv_check(&rows->columns, &rows->cells, why))) {
		fault(rows, row, err, why);
		return OK;
	}
	buffer_clear(&rows->body);
	csv_body(&rows->columns, &rows->cells, &rows->body);
	row->body = buffer_span(&rows->body);
	return rows->body.failed ? ERR_NO_MEMORY : OK;
}

/* A quote that closes a cell stands before another separator, which libcsv takes for a fault of the quote. */
static enum err blame_header(struct rows *rows, const struct row_read *header)
{
	char why[sizeof rows->why];

	memcpy(why, rows->why, sizeof why);
	if (header->err == ERR_INVALID_REQUEST && rows->has_other_separator)
		snprintf(why, sizeof why, "Cells are separated by commas, not by semicolons or tabs.");
	snprintf(rows->why, sizeof rows->why, "The header, in line %llu: %.200s",
	         (unsigned long long)header->place.line, why);
	return ERR_INVALID_INPUT;
}

static enum err read_header(struct rows *rows, const struct template *template)
{
	struct row_read header = {0};
	enum err        err = read_cells(rows, &header);

	if (err == ERR_NOT_FOUND) {
		snprintf(rows->why, sizeof rows->why, "The file is empty: a CSV file begins with a header.");
		return ERR_INVALID_INPUT;
	}
	if (err) return err;
	if (header.err) return blame_header(rows, &header);
	rows->header_size = header.place.at + header.place.size;
	rows->header_cells = rows->cells.count;
	buffer_append(&rows->header, rows->cells.text.at, rows->cells.text.size);
	if (rows->header.failed) return ERR_NO_MEMORY;
	return csv_columns_read(&rows->columns, &rows->cells, template, rows->why);
}

/* ---- both ---- */

/* Files of another kind under an accepted name. */
static const struct {
	const char *bytes;
	size_t      size;
	const char *what;
} strangers[] = {
    {"\xff\xfe\0\0", 4, "The file is UTF-32 text: save it as UTF-8 (\"CSV UTF-8\")."},
    {"\0\0\xfe\xff", 4, "The file is UTF-32 text: save it as UTF-8 (\"CSV UTF-8\")."},
    {"\xff\xfe", 2, "The file is UTF-16 text (\"Unicode text\"): save it as UTF-8 (\"CSV UTF-8\")."},
    {"\xfe\xff", 2, "The file is UTF-16 text (\"Unicode text\"): save it as UTF-8 (\"CSV UTF-8\")."},
    {"PK\3\4", 4, "The file is a spreadsheet (.xlsx or .ods) or an archive: export it as \"CSV UTF-8\"."},
    {"\xd0\xcf\x11\xe0", 4, "The file is a spreadsheet (.xls): export it as \"CSV UTF-8\"."},
    {"\x1f\x8b", 2, "The file is compressed (gzip): unpack it first."},
    {"\x28\xb5\x2f\xfd", 4, "The file is compressed (zstd): unpack it first."},
    {"sep=", 4, "The file begins with a line for a spreadsheet program (sep=): remove that line."},
};

static const char *stranger(enum format format, struct span begin)
{
	for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
		if (begin.size >= strangers[i].size &&
		    !memcmp(begin.at, strangers[i].bytes, strangers[i].size))
			return strangers[i].what;
	if (begin.size >= 2 && !begin.at[0] != !begin.at[1])
		return "The file is UTF-16 text without a byte order mark: save it as UTF-8.";
	while (begin.size && strchr(" \t\r\n", begin.at[0]) && begin.at[0])
		begin = span_of(begin.at + 1, begin.size - 1);
	if (format == FORMAT_JSONL && begin.size && begin.at[0] == '[')
		return "The file is one JSON array: a .jsonl file has one object a line, and nothing around "
		       "them.";
	return NULL;
}

static enum err check_beginning(struct rows *rows)
{
	const char *what = stranger(rows->format, feed_begin(&rows->feed));

	if (!what) return OK;
	snprintf(rows->why, sizeof rows->why, "%s", what);
	rows->format = FORMAT_JSONL; /* no header was begun */
	return ERR_INVALID_INPUT;
}

enum err rows_open(struct rows *rows, enum format format, int fd, const struct template *template)
{
	enum err err;

	*rows = (struct rows){.format = format};
	if ((err = feed_open(&rows->feed, fd)) || (err = check_beginning(rows))) return err;
	if (format != FORMAT_CSV) return OK;
	if ((err = csv_open(&rows->cells))) return err;
	return read_header(rows, template);
}

void rows_close(struct rows *rows)
{
	if (rows->format == FORMAT_CSV) {
		csv_close(&rows->cells);
		csv_columns_free(&rows->columns);
	}
	feed_close(&rows->feed);
	buffer_free(&rows->body);
	buffer_free(&rows->header);
}

enum err rows_next(struct rows *rows, struct row_read *row)
{
	*row = (struct row_read){.err = OK};
	return rows->format == FORMAT_CSV ? next_cells(rows, row) : next_line(rows, row);
}
