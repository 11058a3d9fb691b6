/* Folds one character at a time, by utf8proc's tables. Only marks change places in a decomposition, and marks are
 * stripped, so each character folds by itself. The results of recent characters are cached, since a lookup is slow
 * and may give eighteen characters; without the cache a megabyte of such text would take a third of a second. ASCII,
 * which is most text, bypasses this. Letters without a decomposition, typographic quotes and dashes, and characters
 * without width are replaced by a table of our own. */
#include "schemas/fold.h"

#include <utf8proc.h>

enum { POINTS_MAX = 32, FOLDED_BYTES_MAX = 64, KEPT = 256 };

struct folded {
	int32_t point; /* 0: none yet; ASCII is not cached */
	uint8_t size;
	uint8_t bytes[FOLDED_BYTES_MAX];
};

enum { DECOMPOSED = UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE | UTF8PROC_STRIPMARK };

static unsigned decompose(int32_t point, unsigned how, utf8proc_int32_t points[POINTS_MAX])
{
	int              boundary = 0;
	utf8proc_ssize_t count = utf8proc_decompose_char(point, points, POINTS_MAX, (utf8proc_option_t)how,
	                                                 &boundary);
	must(count >= 0 && count <= POINTS_MAX);
	return (unsigned)count;
}

/* Characters without a decomposition that people type or search in a simpler form. Ordered. */
static const struct {
	int32_t     first, last;
	const char *as;
} plain[] = {
    {0xab, 0xab, "\""},    {0xad, 0xad, ""},       {0xb4, 0xb4, "'"},     {0xbb, 0xbb, "\""},
    {0xe6, 0xe6, "ae"},    {0xf0, 0xf0, "d"},      {0xf8, 0xf8, "o"},     {0xfe, 0xfe, "th"},
    {0x111, 0x111, "d"},   {0x127, 0x127, "h"},    {0x131, 0x131, "i"},   {0x142, 0x142, "l"},
    {0x153, 0x153, "oe"},  {0x2bb, 0x2bc, "'"},    {0x200b, 0x200f, ""},  {0x2010, 0x2015, "-"},
    {0x2018, 0x201b, "'"}, {0x201c, 0x201f, "\""}, {0x2039, 0x203a, "'"}, {0x2060, 0x2060, ""},
    {0x2212, 0x2212, "-"}, {0xfeff, 0xfeff, ""},
};

/* The replacement of the character, or NULL if it has none. */
static const char *plain_of(int32_t point)
{
	for (size_t i = 0; i < sizeof plain / sizeof *plain && point >= plain[i].first; i++)
		if (point <= plain[i].last) return plain[i].as;
	return NULL;
}

static void add(struct folded *folded, const void *bytes, size_t size)
{
	must(folded->size + size <= FOLDED_BYTES_MAX);
	memcpy(folded->bytes + folded->size, bytes, size);
	folded->size = (uint8_t)(folded->size + size);
}

static void add_point(struct folded *folded, int32_t point, bool plainly)
{
	uint8_t     bytes[4];
	const char *as = plainly ? plain_of(point) : NULL;
	if (as)
		add(folded, as, strlen(as));
	else
		add(folded, bytes, (size_t)utf8proc_encode_char(point, bytes));
}

/* Marks are stripped before case folding: one of them (U+0345) has a case form, which would remain. */
static void look_up(int32_t point, bool plainly, struct folded *folded)
{
	utf8proc_int32_t points[POINTS_MAX], cases[POINTS_MAX];
	unsigned         count = decompose(point, DECOMPOSED, points);
	*folded = (struct folded){.point = point};
	if (point == 0xb4) { /* a bare acute accent stands for an apostrophe; decomposed it is a blank */
		add_point(folded, point, plainly);
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		unsigned case_count = decompose(points[i], DECOMPOSED | UTF8PROC_CASEFOLD, cases);
		for (unsigned k = 0; k < case_count; k++)
			add_point(folded, cases[k], plainly);
	}
}

static const struct folded *fold_point(int32_t point, bool plainly)
{
	static _Thread_local struct folded kept[2][KEPT];
	struct folded                     *folded = &kept[plainly][point % KEPT];
	if (folded->point != point) look_up(point, plainly, folded);
	return folded;
}

static size_t ascii_prefix(struct span text)
{
	size_t size = 0;
	while (size < text.size && text.at[size] < 0x80)
		size++;
	return size;
}

static void fold_ascii(struct span text, struct buffer *out)
{
	uint8_t *to = text.size ? buffer_reserve(out, text.size) : NULL;
	if (!to) return;
	for (size_t i = 0; i < text.size; i++) {
		uint8_t letter = text.at[i];
		to[i] = letter >= 'A' && letter <= 'Z' ? (uint8_t)(letter + 32) : letter;
	}
	out->size += text.size;
}

static void fold(struct span text, size_t points_max, bool plainly, struct buffer *out)
{
	for (size_t points = 0; text.size && points < points_max;) {
		size_t ascii = ascii_prefix(
		    text.size < points_max - points ? text : span_of(text.at, points_max - points));
		fold_ascii(span_of(text.at, ascii), out);
		points += ascii;
		text = span_of(text.at + ascii, text.size - ascii);
		if (text.size == 0 || points == points_max) break;
		utf8proc_int32_t point;
		utf8proc_ssize_t size = utf8proc_iterate(text.at, (utf8proc_ssize_t)text.size, &point);
		if (size < 0) {
			out->failed = true;
			break;
		}
		const struct folded *folded = fold_point(point, plainly);
		buffer_append(out, folded->bytes, folded->size);
		points += utf8_length(span_of(folded->bytes, folded->size));
		text = span_of(text.at + size, text.size - (size_t)size);
	}
}

void fold_first(struct span text, size_t points_max, struct buffer *out)
{
	fold(text, points_max, true, out);
}

void fold_text(struct span text, struct buffer *out)
{
	fold(text, SIZE_MAX, true, out);
}

void fold_marks(struct span text, struct buffer *out)
{
	fold(text, SIZE_MAX, false, out);
}

struct span utf8_first(struct span text, size_t count)
{
	size_t at = 0;
	for (; at < text.size; at++)
		if ((text.at[at] & 0xc0) != 0x80 && count-- == 0) break;
	return span_of(text.at, at);
}

size_t utf8_length(struct span text)
{
	size_t length = 0;
	for (size_t i = 0; i < text.size; i++)
		length += (text.at[i] & 0xc0) != 0x80;
	return length;
}
