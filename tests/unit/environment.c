/* The variables that stay in the environment. */
#include "actors/rt/environment.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

static char *given[] = {"PATH=/bin",
                        "https_proxy=x",
                        "HTTPS_PROXY=x",
                        "All_Proxy=",
                        "https_proxy2=kept",
                        "SSLKEYLOGFILE=x",
                        "sslkeylogfile=x",
                        "KEPT=SSL_CERT_FILE=x",
                        "RES_OPTIONS",
                        "HOSTALIASES=a=b",
                        "TZDIR=x",
                        "LAST=1",
                        NULL};

Test(environment, loses_variables_that_libraries_read_in_any_case)
{
	static const char *const want[] = {"PATH=/bin", "https_proxy2=kept", "KEPT=SSL_CERT_FILE=x",
	                                   "LAST=1"};

	environ = given;
	environment_clean();
	for (unsigned i = 0; i < sizeof want / sizeof *want; i++) {
		cr_assert_not_null(environ[i]);
		cr_expect_str_eq(environ[i], want[i]);
	}
	cr_expect_null(environ[sizeof want / sizeof *want]);
	environment_clean();
	cr_expect_str_eq(environ[0], "PATH=/bin");
	environ = NULL;
	environment_clean();
	cr_expect_null(environ);
}
