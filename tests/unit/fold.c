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

/* Whole texts, and in two steps: marks are stripped before case is folded. */
static bool folds_as_utf8proc_does(struct span text)
{
	static const utf8proc_option_t bare_how = UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE |
	                                          UTF8PROC_STRIPMARK;
	utf8proc_uint8_t *bare = NULL, *want = NULL;
	utf8proc_ssize_t  size = utf8proc_map(text.at, (utf8proc_ssize_t)text.size, &bare, bare_how);
	if (size >= 0) size = utf8proc_map(bare, size, &want, bare_how | UTF8PROC_CASEFOLD);
	bool same = size >= 0 && folds_to(text, span_of(want, (size_t)size));
	free(bare);
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
	    {"\xe1\xbe\xb3", "\xce\xb1"},     /* alpha with the mark that has a case */
	    {"\xce\xb1\xcd\x85", "\xce\xb1"}, /* the same in two */
	    {"\xe1\xbe\xbc", "\xce\xb1"},     /* and as a capital */
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

Test(fold, of_a_beginning_gives_as_much_as_is_asked_for)
{
	static const char *const texts[] = {"abcdefgh", "\xc3\x89\xc3\xa9\xc3\xa9",
	                                    "ab\xef\xac\x81"
	                                    "cd",
	                                    "\xcc\x81\xcc\x81"
	                                    "a"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (size_t points = 0; points < 10; points++) {
			struct buffer first = {0};
			buffer_clear(&folded);
			fold_text(span_str(texts[i]), &folded);
			fold_first(span_str(texts[i]), points, &first);
			struct span want = utf8_first(buffer_span(&folded), points);
			cr_expect(span_equal(utf8_first(buffer_span(&first), points), want), "text %zu, %zu",
			          i, points);
			cr_expect_leq(first.size, folded.size);
			buffer_free(&first);
		}
}
