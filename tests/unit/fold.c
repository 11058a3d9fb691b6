/* schemas/fold.h: what utf8proc makes of whole texts, made a character at a time. */
#include "schemas/fold.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <utf8proc.h>

static struct buffer folded;

static bool folds_to(struct span text, struct span want)
{
	buffer_clear(&folded);
	fold_text(text, &folded);
	return !folded.failed && span_equal(buffer_span(&folded), want);
}

static bool folds_as_utf8proc_does(struct span text)
{
	static const utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE |
	                                     UTF8PROC_STRIPMARK | UTF8PROC_CASEFOLD;
	utf8proc_uint8_t *want = NULL;
	utf8proc_ssize_t  size = utf8proc_map(text.at, (utf8proc_ssize_t)text.size, &want, how);
	bool              same = size >= 0 && folds_to(text, span_of(want, (size_t)size));
	free(want);
	return same;
}

Test(fold, decomposes_strips_marks_and_folds_case)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"", ""},
	    {"abcXYZ 09\x7f", "abcxyz 09\x7f"},
	    {"\xc3\x89t\xc3\xa9", "ete"},     /* precomposed */
	    {"E\xcc\x81", "e"},               /* and with a mark of its own */
	    {"\xcc\x81\xcc\x81", ""},         /* marks alone */
	    {"\xc3\x9f\xe1\xba\x9e", "ssss"}, /* sharp s, both cases */
	    {"\xef\xac\x81", "fi"},           /* a ligature */
	    {"\xef\xbc\xa1", "a"},            /* full width */
	    {"a\xe2\x84\xa2"
	     "b",
	     "atmb"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(folds_to(span_str(rows[i].text), span_str(rows[i].want)), "row %zu", i);
}

/* Each character after each of a few, so that what is kept of one is not taken for another. */
Test(fold, knows_every_character)
{
	for (utf8proc_int32_t point = 1; point <= 0x10ffff; point++) {
		uint8_t text[16] = "A";
		if (point >= 0xd800 && point <= 0xdfff) continue;
		size_t size = 1 + (size_t)utf8proc_encode_char(point, text + 1);
		size += (size_t)utf8proc_encode_char(0x301, text + size);
		size += (size_t)utf8proc_encode_char(point, text + size);
		cr_assert(folds_as_utf8proc_does(span_of(text, size)), "U+%04X", (unsigned)point);
	}
}

Test(fold, keeps_nul_and_refuses_what_is_no_text)
{
	cr_expect(folds_to(span_of("\0\xc3\xa9\0", 4), span_of("\0e\0", 3)));
	buffer_clear(&folded);
	fold_text(span_of("a\xff", 2), &folded);
	cr_expect(folded.failed);
}
