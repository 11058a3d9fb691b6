#pragma once
#include "schemas/buffer.h"
#include "schemas/err.h"
#include "schemas/limits.h"

/* A text file of any size, line by line: only the current line is in memory. */
struct feed {
	int           fd;
	struct buffer bytes;  /* read bytes */
	size_t        at;     /* how many of them were returned */
	uint64_t      offset; /* of bytes.at[0], in the file */
	uint64_t      line;   /* number of the last line returned, from 1 */
	bool          ended;
};

/* Limit of a line, and of a row of several lines; a longer row fails. */
enum { IMPORT_ROW_BYTES_MAX = BODY_BYTES_DEFAULT_MAX };

struct feed_line {
	struct span text;         /* without its LF; until the next call. Empty if `is_too_long` */
	uint64_t    at, size;     /* position and size in the file, without the LF */
	uint64_t    number;       /* from 1 */
	bool        ends_with_lf; /* only the last one may lack it */
	bool        is_too_long;  /* longer than IMPORT_ROW_BYTES_MAX */
};

/* A leading byte order mark of UTF-8 is skipped. Units: bytes. Errors: ERR_IO (see errno), ERR_NO_MEMORY; next: also
 * ERR_NOT_FOUND at the end. */
must_check enum err feed_open(struct feed *feed, int fd);
must_check enum err feed_next(struct feed *feed, struct feed_line *line);
void                feed_close(struct feed *feed); /* not the descriptor */

/* The bytes in memory that were not returned yet: after feed_open() the beginning of the file. */
static inline struct span feed_begin(const struct feed *feed)
{
	return span_of(feed->bytes.at + feed->at, feed->bytes.size - feed->at);
}
