/* schemas/fold.h: equals utf8proc's result for whole texts, computed a character at a time. */
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

/* Characters that are replaced in addition, listed in the interface's decisions. The last member is the
 * replacement. */
static const struct {
	const char *text, *want;
} replaced[] = {
    {"\u0142\u0141", "ll"},
    {"\u00f8\u00d8", "oo"},
    {"\u0111\u0110", "dd"},
    {"\u00f0\u00d0", "dd"},
    {"\u0127\u0126", "hh"},
    {"\u0131", "i"},
    {"\u00fe\u00de", "thth"},
    {"\u00df\u1e9e", "ssss"},
    {"\u00e6\u00c6", "aeae"},
    {"\u0153\u0152", "oeoe"},
    {"\u01fe", "o"},
    {"\u01e2", "ae"}, /* with their own marks */
    {"\u2018\u2019\u201a\u201b\u2039\u203a\u02bc\u00b4", "''''''''"},
    {"\u201c\u201d\u201e\u201f\u00ab\u00bb", "\"\"\"\"\"\""},
    {"\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-------"},
    {"a\u00ad\u200b\u200c\u200d\u2060\ufeffb", "ab"},
    {"\u0141ukasz O\u2019Neil", "lukasz o'neil"},
};

Test(fold, replaces_letters_without_a_decomposition)
{
	for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
		cr_expect(folds_to(span_str(replaced[i].text), span_str(replaced[i].want)), "row %zu: %.*s",
		          i, (int)buffer_span(&folded).size, (const char *)buffer_span(&folded).at);
}

/* True if the text has a character of the table above. */
static bool is_replaced(const utf8proc_uint8_t *text)
{
	static const char *const all =
	    "łøđðħıþæœ\"'‘’‚‛‹›ʼʻ´“”„‟«»‐‑‒–—―−\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff";
	utf8proc_int32_t point, other;
	for (utf8proc_ssize_t size; *text && (size = utf8proc_iterate(text, -1, &point)) > 0; text += size)
		for (const utf8proc_uint8_t *at = (const utf8proc_uint8_t *)all; *at;
		     at += utf8proc_iterate(at, -1, &other))
			if (utf8proc_iterate(at, -1, &other) > 0 && other == point && point >= 0x80)
				return true;
	return false;
}

/* Whole texts in two steps: marks are stripped before the case is folded. */
static bool folds_as_utf8proc_does(struct span text)
{
	static const utf8proc_option_t bare_how = UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE |
	                                          UTF8PROC_STRIPMARK;
	utf8proc_uint8_t *bare = NULL, *want = NULL;
	utf8proc_ssize_t  size = utf8proc_map(text.at, (utf8proc_ssize_t)text.size, &bare, bare_how);
	if (size >= 0) size = utf8proc_map(bare, size, &want, bare_how | UTF8PROC_CASEFOLD);
	bool same = size >= 0 && (is_replaced(want) || folds_to(text, span_of(want, (size_t)size)));
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
	    {"E\xcc\x81", "e"},               /* with its own mark */
	    {"\xcc\x81\xcc\x81", ""},         /* only marks */
	    {"\xc3\x9f\xe1\xba\x9e", "ssss"}, /* sharp s, both cases */
	    {"\xef\xac\x81", "fi"},           /* a ligature */
	    {"\xef\xbc\xa1", "a"},            /* full width */
	    {"\xe1\xbe\xb3", "\xce\xb1"},     /* alpha with the mark that has an upper case */
	    {"\xce\xb1\xcd\x85", "\xce\xb1"}, /* the same as two characters */
	    {"\xe1\xbe\xbc", "\xce\xb1"},     /* the same as a capital */
	    {"a\xe2\x84\xa2"
	     "b",
	     "atmb"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(folds_to(span_str(rows[i].text), span_str(rows[i].want)), "row %zu", i);
}

/* Each character after each of several others, so that cached state of one is not used for another. */
Test(fold, folds_every_character)
{
	for (utf8proc_int32_t point = 1; point <= 0x10ffff; point++) {
		uint8_t text[16] = "A";
		if (point >= 0xd800 && point <= 0xdfff) continue;
		size_t size = 1 + (size_t)utf8proc_encode_char(point, text + 1);
		size += (size_t)utf8proc_encode_char(0x301, text + size);
		size += (size_t)utf8proc_encode_char(point, text + size);
		if (point == 0xb4) continue; /* utf8proc makes it a space */
		cr_assert(folds_as_utf8proc_does(span_of(text, size)), "U+%04X", (unsigned)point);
	}
}

Test(fold, keeps_nul_and_refuses_invalid_utf8)
{
	cr_expect(folds_to(span_of("\0\xc3\xa9\0", 4), span_of("\0e\0", 3)));
	buffer_clear(&folded);
	fold_text(span_of("a\xff", 2), &folded);
	cr_expect(folded.failed);
}

Test(fold, folds_a_prefix_of_requested_length)
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
