#pragma once
#include "schemas/buffer.h"
#include "schemas/err.h"
#include "schemas/limits.h"

/* A text file, line by line, however large: no more of it is in memory than the line at hand. */
struct feed {
	int           fd;
	struct buffer bytes;  /* what was read */
	size_t        at;     /* of it, what was given */
	uint64_t      offset; /* of bytes.at[0], in the file */
	uint64_t      line;   /* the number of the last line given, from 1 */
	bool          ended;
};

/* Bytes of a line, and of a row of several; the row fails. */
enum { IMPORT_ROW_BYTES_MAX = BODY_BYTES_DEFAULT_MAX };

struct feed_line {
	struct span text;         /* without its LF; until the next call. Empty when `is_too_long` */
	uint64_t    at, size;     /* where it stands in the file; bytes, without the LF */
	uint64_t    number;       /* from 1 */
	bool        ends_with_lf; /* only the last one may lack it */
	bool        is_too_long;  /* longer than IMPORT_ROW_BYTES_MAX */
};

/* A byte order mark of UTF-8 at the beginning is passed over. Units: bytes.
 * Errors: ERR_IO (see errno), ERR_NO_MEMORY; next: ERR_NOT_FOUND at the end as well. */
must_check enum err feed_open(struct feed *feed, int fd);
must_check enum err feed_next(struct feed *feed, struct feed_line *line);
void                feed_close(struct feed *feed); /* not the descriptor */

/* What is in memory of what has not been given yet: after feed_open() the beginning. */
static inline struct span feed_begin(const struct feed *feed)
{
	return span_of(feed->bytes.at + feed->at, feed->bytes.size - feed->at);
}
