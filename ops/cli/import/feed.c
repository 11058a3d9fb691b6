/* Reads lines. The file is read in steps. An incomplete line at the end of a step moves to the front of the buffer, and the
 * rest is read after it. A line that is too long is read to its end and dropped: its position is enough to find it again. */
#include "ops/cli/import/feed.h"

#include <errno.h>
#include <unistd.h>

enum { STEP_BYTES = 256 << 10 };

static const uint8_t byte_order_mark[] = {0xef, 0xbb, 0xbf};

/* Drops lines already returned, and reads one step more. */
static enum err read_on(struct feed *feed)
{
	struct buffer *bytes = &feed->bytes;
	uint8_t       *room;
	ssize_t        got;

	if (feed->at) memmove(bytes->at, bytes->at + feed->at, bytes->size - feed->at);
	feed->offset += feed->at;
	bytes->size -= feed->at;
	feed->at = 0;
	if (!(room = buffer_reserve(bytes, STEP_BYTES))) return ERR_NO_MEMORY;
	do
		got = read(feed->fd, room, STEP_BYTES);
	while (got < 0 && errno == EINTR);
	if (got < 0) return ERR_IO;
	bytes->size += (size_t)got;
	feed->ended = got == 0;
	return OK;
}

enum err feed_open(struct feed *feed, int fd)
{
	enum err err = OK;

	*feed = (struct feed){.fd = fd};
	while (!err && !feed->ended && feed->bytes.size < sizeof byte_order_mark)
		err = read_on(feed);
	if (!err && feed->bytes.size >= sizeof byte_order_mark &&
	    !memcmp(feed->bytes.at, byte_order_mark, sizeof byte_order_mark))
		feed->at = sizeof byte_order_mark;
	return err;
}

void feed_close(struct feed *feed)
{
	buffer_free(&feed->bytes);
}

static void take(struct feed *feed, struct feed_line *line, size_t size, bool ends_with_lf)
{
	line->text = span_of(feed->bytes.at + feed->at, size);
	line->size += size;
	line->ends_with_lf = ends_with_lf;
	feed->at += size + (ends_with_lf ? 1 : 0);
}

/* Skips the rest of a line that is too long. */
static enum err pass_over(struct feed *feed, struct feed_line *line)
{
	enum err err = OK;

	line->is_too_long = true;
	while (!err && !line->ends_with_lf) {
		const uint8_t *from = feed->bytes.at + feed->at;
		size_t         left = feed->bytes.size - feed->at;
		const uint8_t *lf = left ? memchr(from, '\n', left) : NULL;
		take(feed, line, lf ? (size_t)(lf - from) : left, lf != NULL);
		if (lf || feed->ended) break;
		err = read_on(feed);
	}
	line->text = span_of("", 0);
	return err;
}

enum err feed_next(struct feed *feed, struct feed_line *line)
{
	size_t   seen = 0; /* bytes of the rest that contain no LF */
	enum err err;

	*line = (struct feed_line){.at = feed->offset + feed->at, .number = feed->line + 1};
	for (;;) {
		const uint8_t *from = feed->bytes.at + feed->at;
		size_t         left = feed->bytes.size - feed->at;
		const uint8_t *lf = left > seen ? memchr(from + seen, '\n', left - seen) : NULL;
		if (!lf && feed->ended && left == 0) return ERR_NOT_FOUND;
		size_t size = lf ? (size_t)(lf - from) : left;
		if (size > IMPORT_ROW_BYTES_MAX) {
			err = pass_over(feed, line);
			break;
		}
		if (lf || feed->ended) {
			take(feed, line, size, lf != NULL);
			err = OK;
			break;
		}
		seen = left;
		if ((err = read_on(feed))) break;
	}
	feed->line++;
	return err;
}
