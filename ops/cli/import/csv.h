#pragma once
#include "schemas/buffer.h"
#include "schemas/err.h"
#include "schemas/template.h"

#include <csv.h>

/* Comma-separated values as RFC 4180 has them, read strictly: cells as they are (white space belongs to them), quotes
 * only around a whole cell and doubled inside, rows ended by LF or CRLF. The only user of <csv.h>. */

enum {
	CSV_COLUMNS_MAX = 1024
}; /* of a header; INVALID_INPUT. Of a row: beyond the header's it is malformed */

/* One row, of one or more lines. */
struct csv_row {
	struct csv_parser parser;
	struct buffer     text;  /* of all cells */
	struct arena      arena; /* for reading a number */
	size_t            ends[CSV_COLUMNS_MAX];
	uint32_t          count; /* of cells; those beyond CSV_COLUMNS_MAX are only counted */
	unsigned          ended; /* how many rows the text so far has ended; of a failed line: by CRs alone */
	bool              beyond; /* a cell stands behind the row's end */
	bool              inside; /* the parser stands inside a row, or nowhere */
};

/* Units: bytes. Errors: ERR_NO_MEMORY; line: ERR_INVALID_REQUEST (that is no CSV; begin anew with the next line). */
must_check enum err csv_open(struct csv_row *row);
void                csv_close(struct csv_row *row);
must_check enum err csv_begin(struct csv_row *row); /* the next row, whatever has become of the last one */

/* Forgets the row at hand but for this: it has not ended, so its next line begins inside quotes. */
must_check enum err csv_begin_quoted(struct csv_row *row);

/* Adds a line, with or without its LF; `is_last`: nothing follows it. *whole: the row ends with it. */
must_check enum err csv_line(struct csv_row *row, struct span line, bool is_last, bool *whole);
struct span         csv_cell(const struct csv_row *row, uint32_t index);
bool                csv_is_empty(const struct csv_row *row); /* all its cells are */

/* What the columns of a header mean, held against the template that its rows are for. */
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
	uint32_t      width; /* with those without one behind it */
	struct csv_column {
		enum csv_kind kind;
		size_t        at, size; /* its key, in `names` */
	} of[CSV_COLUMNS_MAX];
};

/* `why` gets a sentence for people, which names the column at fault. csv_columns_free() is right after a failure too.
 * Errors: ERR_INVALID_INPUT, ERR_NO_MEMORY. */
must_check enum err csv_columns_read(struct csv_columns *columns, const struct csv_row *header,
                                     const struct template *template, char              why[256]);
void                csv_columns_free(struct csv_columns *columns);

/* Has the row a cell for each column, no more cells than the header, and nothing in those without a name? `why` as above.
 * Errors: ERR_INVALID_REQUEST. */
must_check enum err csv_check(const struct csv_columns *columns, const struct csv_row *row, char why[256]);

/* For a row that has passed that check. Appends it as the JSON body that makes its pass. An empty cell is absent. What is not the JSON of its column's
 * type stays a string, which the shard then refuses by the field's name. */
void csv_body(const struct csv_columns *columns, struct csv_row *row, struct buffer *json);
