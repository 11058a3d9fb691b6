/* http/accept.h: a media type is named, or not, whatever else an Accept header has. */
#include "http/accept.h"

#include <criterion/criterion.h>

static const char type[] = "application/vnd.apple.pkpass";

Test(accept, names_a_type)
{
	static const char *const good[] = {
	    "application/vnd.apple.pkpass",
	    "Application/VND.Apple.PKPass",
	    "text/html, application/vnd.apple.pkpass;q=0.1, */*",
	    "text/html;q=1,application/vnd.apple.pkpass ; Q=0.001",
	    "application/vnd.apple.pkpass;q=0, application/vnd.apple.pkpass",
	    "application/vnd.apple.pkpass;x=\"a,b;q=0\"",
	    "text/plain;x=\"a\\\",b\", application/vnd.apple.pkpass",
	    ",, application/vnd.apple.pkpass,",
	    "application/vnd.apple.pkpass;",
	};
	for (unsigned i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(accept_names(span_str(good[i]), type), "%s", good[i]);
}

Test(accept, names_no_other_type)
{
	static const char *const bad[] = {
	    "",
	    "*/*",
	    "application/*",
	    "text/html",
	    "application/vnd.apple.pkpasses",
	    "application/vnd.apple.pkpas",
	    "application/vnd.apple.pkpass;q=0",
	    "application/vnd.apple.pkpass; Q=0.000",
	    "application/vnd.apple.pkpass;x=1;q=0.0",
	    "text/html;x=\"application/vnd.apple.pkpass\"",
	    "text/html;x=\", application/vnd.apple.pkpass",
	    "text/html;x=\"\\",
	};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_not(accept_names(span_str(bad[i]), type), "%s", bad[i]);
}
