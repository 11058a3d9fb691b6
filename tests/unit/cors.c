/* http/cors.h: an origin is allowed if it equals a listed one byte for byte. */
#include "http/cors.h"

#include <criterion/criterion.h>

Test(cors, only_listed_origins_are_allowed)
{
	struct options options = {.cors_origin_count = 2};
	options.cors_origins[0] = "https://a.example";
	options.cors_origins[1] = "http://b.example:3000";
	static const char *const allowed[] = {"https://a.example", "http://b.example:3000"};
	static const char *const others[] = {
	    "",
	    "null",
	    "*",
	    "https://a.example/",
	    "https://a.example:443",
	    "HTTPS://a.example",
	    "https://a.exampl",
	    "https://a.example.evil",
	    "http://b.example",
	    "https://a.example\r\nX: y",
	    "https://a.example ",
	};
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		cr_expect(cors_allows(&options, span_str(allowed[i])), "%s", allowed[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_expect_not(cors_allows(&options, span_str(others[i])), "%s", others[i]);
}

Test(cors, an_origin_invalid_in_a_header_is_not_allowed_even_if_listed)
{
	struct options options = {.cors_origin_count = 1};
	options.cors_origins[0] = "https://a.example\r\nX: y";
	cr_expect_not(cors_allows(&options, span_str(options.cors_origins[0])));
}
