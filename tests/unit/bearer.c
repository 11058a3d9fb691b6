/* http/bearer.h: which headers have a key, and where one is needed. */
#include "http/bearer.h"

#include <criterion/criterion.h>

#define ACCOUNT "abcdefghijklmnop"
#define KEY     "sk_" ACCOUNT "_abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst"

Test(bearer, is_read_in_any_spacing_and_case)
{
	static const char *const values[] = {"Bearer " KEY, "bearer " KEY, "BEARER " KEY, "Bearer   " KEY};
	struct account_id        want;
	struct bearer            got = {0};
	cr_assert(account_id_read(span_str("acc_" ACCOUNT), &want));
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		cr_assert(bearer_read(span_str(values[i]), &got), "%s", values[i]);
		cr_expect_arr_eq(got.account.b, want.b, sizeof want.b);
	}
}

Test(bearer, of_another_form_is_refused)
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
	struct bearer            bearer = {0};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		cr_expect_not(bearer_read(span_str(values[i]), &bearer), "%s", values[i]);
}

/* The cached result is used for an identical header only. */
Test(bearer, is_parsed_again_when_the_header_differs)
{
	static const char other_key[] =
	    "Bearer sk_bcdefghijklmnopa_bbcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst";
	static const char other_secret[] = "Bearer sk_" ACCOUNT
	                                   "_bbcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst";
	static const char *const values[] = {"Bearer " KEY, "Bearer " KEY,   other_key,
	                                     other_secret,  "Bearer   " KEY, other_key};
	struct bearer            kept = {0};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct bearer fresh = {0};
		cr_assert(bearer_read(span_str(values[i]), &fresh));
		cr_assert(bearer_read(span_str(values[i]), &kept), "%s", values[i]);
		cr_expect_arr_eq(kept.account.b, fresh.account.b, sizeof fresh.account.b);
		cr_expect_arr_eq(kept.key_hash, fresh.key_hash, sizeof fresh.key_hash);
		cr_expect_not(bearer_read(span_str("Bearer"), &kept));
		cr_expect_not(bearer_read(span_str(""), &kept));
		cr_assert(bearer_read(span_str(values[i]), &kept), "%s", values[i]);
	}
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

Test(bearer, invalid_key_has_its_reason)
{
	static const struct {
		const char *value;
		unsigned    count;
		enum cause  cause;
	} rows[] = {
	    {"", 0, CAUSE_BEARER_MISSING},
	    {"Bearer " KEY, 2, CAUSE_BEARER_TWICE},
	    {"", 1, CAUSE_BEARER_SCHEME},
	    {KEY, 1, CAUSE_BEARER_SCHEME},
	    {"Basic " KEY, 1, CAUSE_BEARER_SCHEME},
	    {"Bearer", 1, CAUSE_BEARER_SCHEME},
	    {"Bearer" KEY, 1, CAUSE_BEARER_SCHEME},
	    {"Bearer x", 1, CAUSE_BEARER_FORM},
	    {"bearer " KEY "a", 1, CAUSE_BEARER_FORM},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(bearer_judge(span_str(rows[i].value), rows[i].count), rows[i].cause, "row %zu",
		             i);
}
