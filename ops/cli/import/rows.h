#pragma once
#include "ops/cli/import/csv.h"
#include "ops/cli/import/feed.h"

/* An import file as rows, each with its JSON body. JSONL: a line is a body. CSV: a header, then rows of one or more lines.
 * Empty lines and rows of empty cells are skipped. One row is in memory at a time. */
enum format { FORMAT_JSONL, FORMAT_CSV };

struct rows {
	enum format        format;
	struct feed        feed;
	struct csv_row     cells;
	struct csv_columns columns;
	struct buffer      body;
	struct buffer      header; /* its cells */
	uint32_t           header_cells;
	/* Bytes at the beginning of the file: header and byte order mark, without the LF. */
	uint64_t header_size;
	bool has_other_separator; /* the last line has, perhaps, a semicolon or tab behind a quoted cell */
	char why[256];            /* of a failure, or of a row's err */
};

/* The position of a row in the file: its first line (from 1), and its bytes, without the final LF. */
struct row_place {
	uint64_t line, at, size;
};

/* A row as read. */
struct row_read {
	struct row_place place;
	struct span      body; /* until the next row is read */
	enum err         err;  /* not OK: there is no body; rows->why has the reason */
};

/* Checks whether the file is of another kind (a spreadsheet, UTF-16), and reads the header of a CSV file for the template.
 * Call rows_close() after a failure, too. Errors: ERR_INVALID_INPUT (the kind, or the header; rows->why has the reason),
 * ERR_IO (see errno), ERR_NO_MEMORY. */
must_check enum err rows_open(struct rows *rows, enum format format, int fd, const struct template *template);
void                rows_close(struct rows *rows);

/* Why a body is unreadable, as a static text; NULL: none of the usual reasons. */
const char *row_fault(struct span body);

/* Errors: ERR_NOT_FOUND (there are no more), ERR_IO (see errno), ERR_NO_MEMORY. */
must_check enum err rows_next(struct rows *rows, struct row_read *row);
