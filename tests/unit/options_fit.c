/* The length of options, which become the command line of a child. */
#include "actors/rt/options.h"

#include <criterion/criterion.h>
#include <string.h>

Test(options_fit, limits_the_command_line_of_a_child)
{
	static const struct {
		size_t bytes; /* of each origin */
		int    count;
		char  *refusal; /* its beginning; empty: none */
	} rows[] = {
	    {OPTION_BYTES_MAX, 1, ""},
	    {OPTION_BYTES_MAX + 1, 1, "--cors-origin: a value of 65537 bytes, more than 65536"},
	    {OPTION_BYTES_MAX, 3, ""},
	    {OPTION_BYTES_MAX, 4, "--cors-origin: the longest value of options that have "},
	    {OPTIONS_BYTES_MAX / 16, 15, ""},
	    {OPTIONS_BYTES_MAX / 16, 16, "--cors-origin: the longest value of options that have "},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		static char origin[OPTION_BYTES_MAX + 2];
		memset(origin, 'a', rows[i].bytes);
		memcpy(origin, "https://", 8);
		origin[rows[i].bytes] = 0;
		struct options options = {.data = "d", .cors_origin_count = (unsigned)rows[i].count};
		for (int n = 0; n < rows[i].count; n++)
			options.cors_origins[n] = origin;
		char     why[OPTION_WHY] = "";
		enum err err = options_fit(&options, why), wanted = *rows[i].refusal ? ERR_BAD_OPTION : OK;
		cr_expect_eq(err, wanted, "row %zu", i);
		cr_expect(!strncmp(why, rows[i].refusal, *rows[i].refusal ? strlen(rows[i].refusal) : 1),
		          "row %zu: %s", i, why);
	}
}
