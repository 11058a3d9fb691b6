/* schemas/query.h: percent-encoding and query strings. */
#include "schemas/query.h"

#include <criterion/criterion.h>

Test(query, decodes_percent_and_plus)
{
	static const struct {
		const char *text;
		bool        plus;
		const char *want; /* NULL: refused */
	} rows[] = {
	    {"", true, ""},       {"abc", false, "abc"},         {"a%2Fb%2fc", false, "a/b/c"},
	    {"a+b", true, "a b"}, {"a+b", false, "a+b"},         {"%2B", true, "+"},
	    {"%25", false, "%"},  {"%C3%A9", false, "\xc3\xa9"}, {"%2525", false, "%25"},
	    {"%", false, NULL},   {"%4", false, NULL},           {"%zz", false, NULL},
	    {"%4g", false, NULL}, {"a%", false, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t out[32];
		size_t  size;
		bool    good = percent_decode(span_str(rows[i].text), rows[i].plus, out, &size);
		cr_assert_eq(good, rows[i].want != NULL, "%s", rows[i].text);
		if (good) cr_expect(span_is(span_of(out, size), rows[i].want), "%s", rows[i].text);
	}
	uint8_t out[4];
	size_t  size;
	cr_expect_not(percent_decode(span_of("%41", 2), true, out, &size),
	              "bytes beyond the text are not read");
}

Test(query, gives_pairs_in_order_and_then_ends)
{
	static const struct {
		const char *name, *value;
	} wants[] = {{"a", "1"}, {"b", ""}, {"c", ""}, {"", "d"}, {"a", "2=3"}};
	struct span rest = span_str("a=1&b=&&c&=d&a=2=3&"), name, value;
	for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
		cr_assert(query_next(&rest, &name, &value), "pair %zu", i);
		cr_expect(span_is(name, wants[i].name), "pair %zu", i);
		cr_expect(span_is(value, wants[i].value), "pair %zu", i);
	}
	cr_expect_not(query_next(&rest, &name, &value));
	rest = span_str("");
	cr_expect_not(query_next(&rest, &name, &value));
}

Test(query, accepts_the_forms_of_an_array)
{
	static const struct {
		const char     *text, *name;
		enum query_form form;
	} rows[] = {
	    {"status", "status", QUERY_PLAIN},
	    {"", "", QUERY_PLAIN},
	    {"status]", "status]", QUERY_PLAIN},
	    {"status[]", "status", QUERY_ARRAY},
	    {"status[0]", "status", QUERY_ARRAY},
	    {"status[12]", "status", QUERY_ARRAY},
	    {"[]", "", QUERY_ARRAY},
	    {"status[", "status", QUERY_BROKEN},
	    {"status[0", "status", QUERY_BROKEN},
	    {"status[x]", "status", QUERY_BROKEN},
	    {"status[-1]", "status", QUERY_BROKEN},
	    {"status[ ]", "status", QUERY_BROKEN},
	    {"status[]x", "status", QUERY_BROKEN},
	    {"status[][]", "status", QUERY_BROKEN},
	    {"status[[]]", "status", QUERY_BROKEN},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct span name = span_str(rows[i].text);
		cr_expect_eq(query_cut_form(&name), rows[i].form, "%s", rows[i].text);
		cr_expect(span_is(name, rows[i].name), "%s", rows[i].text);
	}
	struct span cut = span_of("status[]", 7);
	cr_expect_eq(query_cut_form(&cut), QUERY_BROKEN, "bytes beyond the text are not read");
}
