/* Local time in Mexico City around every kind of clock change. */
#include "schemas/mexico.h"

#include "schemas/date.h"
#include "schemas/span.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>

static void begin(void)
{
	cr_assert(mexico_begin());
}

TestSuite(mexico, .init = begin);

static const struct {
	const char *at, *want;
} rows[] = {
    {"2026-11-20T20:43:00.123456Z", "2026-11-20T14:43:00.123-06:00"},
    {"2026-07-20T20:43:00.999999Z", "2026-07-20T14:43:00.999-06:00"}, /* no summer time since */
    {"2027-01-01T05:59:59.999Z", "2026-12-31T23:59:59.999-06:00"},
    {"2100-07-01T00:00:00Z", "2100-06-30T18:00:00.000-06:00"},
    /* the last summer: to 2022-10-30 02:00 */
    {"2022-10-30T06:59:59.999Z", "2022-10-30T01:59:59.999-05:00"},
    {"2022-10-30T07:00:00Z", "2022-10-30T01:00:00.000-06:00"},
    {"2022-10-30T07:59:59.999Z", "2022-10-30T01:59:59.999-06:00"},
    {"2022-04-03T07:59:59.999Z", "2022-04-03T01:59:59.999-06:00"},
    {"2022-04-03T08:00:00Z", "2022-04-03T03:00:00.000-05:00"},
    {"2023-04-02T08:00:00Z", "2023-04-02T02:00:00.000-06:00"},
    /* the first, and the short one of 2001 */
    {"1996-04-07T07:59:59Z", "1996-04-07T01:59:59.000-06:00"},
    {"1996-04-07T08:00:00Z", "1996-04-07T03:00:00.000-05:00"},
    {"1995-07-01T00:00:00Z", "1995-06-30T18:00:00.000-06:00"},
    {"2001-05-06T07:59:59Z", "2001-05-06T01:59:59.000-06:00"},
    {"2001-05-06T08:00:00Z", "2001-05-06T03:00:00.000-05:00"},
    {"2001-09-30T06:59:59Z", "2001-09-30T01:59:59.000-05:00"},
    {"2001-09-30T07:00:00Z", "2001-09-30T01:00:00.000-06:00"},
    /* before the zones, and around 1970 */
    {"1970-01-01T00:00:00Z", "1969-12-31T18:00:00.000-06:00"},
    {"1969-12-31T23:59:59.999Z", "1969-12-31T17:59:59.999-06:00"},
    {"1921-12-31T00:00:00Z", "1921-12-30T17:24:00.000-06:36"},
    {"1935-01-01T00:00:00Z", "1934-12-31T18:00:00.000-06:00"},
    {"1925-01-01T00:00:00Z", "1924-12-31T17:00:00.000-07:00"},
};

Test(mexico, local_times_are_right)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char    got[MEXICO_TEXT];
		wall_us at, again;
		cr_assert(rfc3339_read(span_str(rows[i].at), &at));
		mexico_text(at, got);
		cr_expect_str_eq(got, rows[i].want);
		cr_assert(rfc3339_read(span_str(got), &again));
		cr_expect_eq(again.v / 1000, at.v / 1000 - (at.v < 0 && at.v % 1000 ? 1 : 0),
		             "%s is another moment", got);
	}
}

/* The zone does not depend on the process's environment. */
Test(mexico, the_environment_is_ignored)
{
	char got[MEXICO_TEXT];
	setenv("TZ", "Asia/Tokyo", 1);
	cr_assert(mexico_begin());
	mexico_text((wall_us){0}, got);
	cr_expect_str_eq(got, "1969-12-31T18:00:00.000-06:00");
}

Test(mexico, without_zone_data_it_does_not_start)
{
	setenv("TZDIR", "/nonexistent", 1);
	setenv("TZ", "UTC", 1);
	tzset();
	cr_expect_not(mexico_begin());
}
