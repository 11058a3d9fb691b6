/* http/bearer.h: which headers hold a key, and where one is needed. */
#include "http/bearer.h"

#include <criterion/criterion.h>

#define ACCOUNT "abcdefghijklmnop"
#define KEY     "sk_" ACCOUNT "_abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst"

Test(bearer, is_read_however_it_is_spaced_and_spelt)
{
	static const char *const values[] = {"Bearer " KEY, "bearer " KEY, "BEARER " KEY, "Bearer   " KEY};
	struct account_id        want, got;
	uint8_t                  hash[32];
	cr_assert(account_id_read(span_str("acc_" ACCOUNT), &want));
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		cr_assert(bearer_read(span_str(values[i]), &got, hash), "%s", values[i]);
		cr_expect_arr_eq(got.b, want.b, sizeof got.b);
	}
}

Test(bearer, of_another_form_is_none)
{
	static const char *const values[] = {"",
	                                     "Bearer",
	                                     "Bearer ",
	                                     KEY,
	                                     "Basic " KEY,
	                                     "Bearer",
	                                     "Bearer" KEY,
	                                     "Bearer x",
	                                     "Bearer\t" KEY,
	                                     "Bearer " KEY "a",
	                                     "Bearer " KEY " x"};
	struct account_id        account;
	uint8_t                  hash[32];
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		cr_expect_not(bearer_read(span_str(values[i]), &account, hash), "%s", values[i]);
}

Test(bearer, is_needed_below_v1)
{
	static const char *const below[] = {"/v1", "/v1/", "/v1/passes", "/v1//"};
	static const char *const beside[] = {"",      "/",          "/v",         "/v10",
	                                     "/v1x/", "/V1/passes", "/v2/passes", "v1/"};
	for (size_t i = 0; i < sizeof below / sizeof *below; i++)
		cr_expect(bearer_guards(span_str(below[i])), "%s", below[i]);
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
		cr_expect_not(bearer_guards(span_str(beside[i])), "%s", beside[i]);
}
