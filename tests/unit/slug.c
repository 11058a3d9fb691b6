/* Slugs: valid ones, how a name becomes one, and the position of the number. */
#include "schemas/slug.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define A10 "aaaaaaaaaa"
#define A70 A10 A10 A10 A10 A10 A10 A10

Test(slug, must_have_a_valid_form)
{
	static const char *const good[] = {"a", "0", "a_b", "a1_2b_c3", A70 A10, "a_a_a_a_a"};
	static const char *const bad[] = {"",         "_",   "_a",   "a_",         "a__b",
	                                  "A",        "a-b", "a b",  "a.b",        "a/b",
	                                  "\xc3\xa9", "a\n", "a_b_", "a_\xc3\xa9", A70 A10 "a"};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(slug_is_valid(span_str(good[i])), "%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect(!slug_is_valid(span_str(bad[i])), "%s", bad[i]);
	cr_expect(!slug_is_valid(span_of("a\0b", 3)));
}

static void expect_made(struct span name, const char *want)
{
	struct slug got;
	cr_assert_eq(slug_make(name, &got), OK);
	cr_expect(span_is(slug_span(&got), want), "%.*s -> %.*s instead of %s", (int)name.size,
	          (const char *)name.at, (int)got.size, (const char *)got.b, want);
	cr_expect(slug_is_valid(slug_span(&got)));
}

Test(slug, is_derived_from_a_name)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
	    {"Free coffee", "free_coffee"},
	    {"free_coffee", "free_coffee"},
	    {"  A -- b!", "a_b"},
	    {"", "reward"},
	    {"***", "reward"},
	    {"\xe2\x98\x95", "reward"},
	    {"Caf\xc3\xa9 con le\xc3\xb1"
	     "a",
	     "cafe_con_lena"},
	    {"E\xcc\x81", "e"},
	    {"Stra\xc3\x9f"
	     "e",
	     "strasse"},
	    {"\xef\xbc\xa1\xef\xbd\x82", "ab"},
	    {"1\xc2\xbd", "11_2"},
	    {"2 x 1 \xe2\x80\x94 hoy", "2_x_1_hoy"},
	    {A70 A10 "b", A70 A10},
	    {A70 "aaaaaaaaa b", A70 "aaaaaaaaa"}, /* cut after the underscore, which is removed too */
	    {A70 "aaaaaaaa b", A70 "aaaaaaaa_b"},
	    {"_" A70 A10, A70 A10},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_made(span_str(rows[i].name), rows[i].want);
	expect_made(span_of("a\0b", 3), "a_b");
}

Test(slug, has_room_for_a_number)
{
	static const struct {
		const char *base;
		uint32_t    number;
		const char *want;
	} rows[] = {
	    {"a", 2, "a_2"},
	    {"a_2", 2, "a_2_2"},
	    {"a", UINT32_MAX, "a_4294967295"},
	    {A70 "aaaaaaaa", 2, A70 "aaaaaaaa_2"},
	    {A70 "aaaaaaaaa", 2, A70 "aaaaaaaa_2"},
	    {A70 A10, 10, A70 "aaaaaaa_10"},
	    {A70 "aaaaaaa_bb", 2, A70 "aaaaaaa_2"}, /* no two underscores */
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct slug base, got;
		cr_assert_eq(slug_make(span_str(rows[i].base), &base), OK);
		slug_number(&base, rows[i].number, &got);
		cr_expect(span_is(slug_span(&got), rows[i].want), "%zu: %.*s", i, (int)got.size,
		          (const char *)got.b);
		cr_expect(slug_is_valid(slug_span(&got)));
	}
}
