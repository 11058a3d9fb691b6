#pragma once
#include "schemas/buffer.h"
#include "schemas/err.h"
#include "schemas/template.h"

#include <csv.h>

/* Comma-separated values by RFC 4180, read strictly: white space belongs to cells, quotes only around a whole cell and doubled
 * inside, rows ended by LF or CRLF. The only user of <csv.h>. */

/* Of a header; more: INVALID_INPUT. A row with more cells than its header is malformed. */
enum { CSV_COLUMNS_MAX = 1024 };

/* One row, of one or more lines. */
struct csv_row {
	struct csv_parser parser;
	struct buffer     text;  /* of all cells */
	struct arena      arena; /* for reading a number */
	size_t            ends[CSV_COLUMNS_MAX];
	uint32_t          count;  /* of cells; those above CSV_COLUMNS_MAX are only counted */
	unsigned          ended;  /* rows ended by the text so far; of a failed line: by CRs alone */
	bool              beyond; /* a cell follows the row's end */
	bool              inside; /* the parser is inside a row, or in no row */
};

/* Units: bytes. Errors: ERR_NO_MEMORY; line: ERR_INVALID_REQUEST (not CSV; start again with the next line). */
must_check enum err csv_open(struct csv_row *row);
void                csv_close(struct csv_row *row);
must_check enum err csv_begin(struct csv_row *row); /* starts the next row, whatever the state of the last */

/* Drops the current row, but its next line begins inside quotes, because it has not ended. */
must_check enum err csv_begin_quoted(struct csv_row *row);

/* Adds a line, with or without its LF; `is_last`: nothing follows it. *whole: the row ends with it. */
must_check enum err csv_line(struct csv_row *row, struct span line, bool is_last, bool *whole);
struct span         csv_cell(const struct csv_row *row, uint32_t index);
bool                csv_is_empty(const struct csv_row *row); /* all its cells are */

/* The meaning of a header's columns, for the template of its rows. */
enum csv_kind {
	CSV_PASS_ID,
	CSV_PLATFORM,
	CSV_TEXT,
	CSV_NUMBER,
	CSV_BOOLEAN,
	CSV_HIDDEN,
	CSV_NOTHING /* a column without a name: all its cells must be empty */
};

struct csv_columns {
	struct buffer names; /* of all columns */
	uint32_t      count; /* up to the last that has a name */
	uint32_t      width; /* with unnamed ones after it */
	struct csv_column {
		enum csv_kind kind;
		size_t        at, size; /* its key, in `names` */
	} of[CSV_COLUMNS_MAX];
};

/* `why` gets a sentence that names the column at fault. Call csv_columns_free() after a failure, too. Errors:
 * ERR_INVALID_INPUT, ERR_NO_MEMORY. */
must_check enum err csv_columns_read(struct csv_columns *columns, const struct csv_row *header,
                                     const struct template *template, char              why[256]);
void                csv_columns_free(struct csv_columns *columns);

/* Does the row have a cell for each column, no more cells than the header, and only empty ones in unnamed columns? `why` as
 * above. Errors: ERR_INVALID_REQUEST. */
must_check enum err csv_check(const struct csv_columns *columns, const struct csv_row *row, char why[256]);

/* For a row that has passed csv_check(). Appends the JSON body that creates its pass. An empty cell is absent. A cell that is
 * not JSON of its column's type stays a string, which the shard refuses by the field's name. */
void csv_body(const struct csv_columns *columns, struct csv_row *row, struct buffer *json);
