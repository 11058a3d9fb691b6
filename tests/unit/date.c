/* Dates: printing, parsing, and a round trip of each day of many centuries. */
#include "schemas/date.h"

#include <criterion/criterion.h>

static wall_us read_ok(const char *text)
{
	wall_us at = {0};
	cr_assert(rfc3339_read(span_str(text), &at), "refused: %s", text);
	return at;
}

Test(date, prints_milliseconds_rounded_down)
{
	static const struct {
		int64_t     us;
		const char *want;
	} rows[] = {
	    {0, "1970-01-01T00:00:00.000Z"},
	    {999, "1970-01-01T00:00:00.000Z"},
	    {1999, "1970-01-01T00:00:00.001Z"},
	    {-1, "1969-12-31T23:59:59.999Z"},
	    {1795206180123456, "2026-11-20T20:23:00.123Z"},
	    {951782400000000, "2000-02-29T00:00:00.000Z"},
	    {INT64_C(253402300799999999), "9999-12-31T23:59:59.999Z"},
	    {INT64_C(-62135596800000000), "0001-01-01T00:00:00.000Z"},
	    {INT64_MAX, "9999-12-31T23:59:59.999Z"},
	    {INT64_MIN, "0001-01-01T00:00:00.000Z"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char got[RFC3339_TEXT];
		rfc3339_text((wall_us){rows[i].us}, got);
		cr_expect_str_eq(got, rows[i].want);
	}
}

Test(date, prints_the_spaced_form_with_all_microseconds)
{
	static const struct {
		int64_t     us;
		const char *want;
	} rows[] = {
	    {0, "1970-01-01 00:00:00.000000 +0000 UTC"},
	    {7, "1970-01-01 00:00:00.000007 +0000 UTC"},
	    {-1, "1969-12-31 23:59:59.999999 +0000 UTC"},
	    {1795206180123456, "2026-11-20 20:23:00.123456 +0000 UTC"},
	    {1795206180000000, "2026-11-20 20:23:00.000000 +0000 UTC"},
	    {INT64_MAX, "9999-12-31 23:59:59.999999 +0000 UTC"},
	    {INT64_MIN, "0001-01-01 00:00:00.000000 +0000 UTC"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char got[SPACED_DATE_TEXT];
		spaced_date_text((wall_us){rows[i].us}, got);
		cr_expect_str_eq(got, rows[i].want);
	}
}

Test(date, reads_offsets_and_fractions)
{
	static const struct {
		const char *text;
		int64_t     want;
	} rows[] = {
	    {"1970-01-01T00:00:00Z", 0},
	    {"1970-01-01t00:00:00z", 0},
	    {"1970-01-01T00:00:00.1Z", 100000},
	    {"1970-01-01T00:00:00.123456789Z", 123456},
	    {"1970-01-01T01:00:00+01:00", 0},
	    {"1969-12-31T18:30:00-05:30", 0},
	    {"1970-01-01T00:00:00-00:00", 0},
	    {"2000-02-29T12:00:00Z", 951825600000000},
	    {"2016-12-31T23:59:60Z", INT64_C(1483228800000000)},
	    {"2016-12-31T23:59:60.25Z", INT64_C(1483228800250000)},
	    {"2017-01-01T05:29:60+05:30", INT64_C(1483228800000000)},
	    {"2016-12-31T15:59:60-08:00", INT64_C(1483228800000000)},
	    {"2024-02-29T23:59:60Z", INT64_C(1709251200000000)},
	    {"9999-12-31T23:59:59.999999Z", INT64_C(253402300799999999)},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(read_ok(rows[i].text).v, rows[i].want, "%s", rows[i].text);
}

Test(date, refuses_invalid_dates)
{
	static const char *const texts[] = {
	    "",
	    "2026-11-20",
	    "2026-11-20T20:43:00",
	    "2026-11-20 20:43:00Z",
	    "2026-11-20T20:43:00.Z",
	    "2026-11-20T20:43:00.1234567890Z",
	    "2026-11-20T20:43:60Z",
	    "2026-11-30T22:59:60Z",
	    "2026-11-29T23:59:60Z",
	    "2024-02-28T23:59:60Z",
	    "2026-11-30T23:59:60+01:00",
	    "2026-11-30T23:59:61Z",
	    "2026-11-30T23:60:60Z",
	    "9999-12-31T23:59:60Z",
	    "2026-11-20T24:00:00Z",
	    "2026-11-20T20:60:00Z",
	    "2026-13-01T00:00:00Z",
	    "2026-00-01T00:00:00Z",
	    "2026-02-29T00:00:00Z",
	    "1900-02-29T00:00:00Z",
	    "2026-04-31T00:00:00Z",
	    "2026-04-00T00:00:00Z",
	    "0000-12-31T00:00:00Z",
	    "0001-01-01T00:00:00+00:01",
	    "9999-12-31T23:59:59-00:01",
	    "2026-11-20T20:43:00+24:00",
	    "2026-11-20T20:43:00+0100",
	    "2026-11-20T20:43:00+01:60",
	    "2026-11-20T20:43:00ZZ",
	    "2026-11-20T20:43:00Z ",
	    "+026-11-20T20:43:00Z",
	    "2026-1a-20T20:43:00Z",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		wall_us at;
		cr_expect(!rfc3339_read(span_str(texts[i]), &at), "accepted: %s", texts[i]);
	}
}

Test(date, a_message_says_what_is_wrong_of_a_time)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
	    {"2026-11-26T10:00:00", "time zone"},
	    {"2026-11-26T10:00:00.5", "time zone"},
	    {"2026-02-30T10:00:00Z", "day that exists"},
	    {"2026-13-01T10:00:00Z", "day that exists"},
	    {"2026-02-29T10:00:00+01:00", "day that exists"},
	    {"2026-11-26T24:00:00Z", "23:59:59"},
	    {"2026-11-26T10:60:00Z", "23:59:59"},
	    {"2026-11-26T10:00:60Z", "23:59:59"},
	    {"0001-01-01T00:00:00+01:00", "years"},
	    {"01/02/2026", WANTED_TIME},
	    {"2026-11-26", WANTED_TIME},
	    {"2026-11-26T10:00:00ZZ", WANTED_TIME},
	    {"2026-11-26T10:00:00+24:00", WANTED_TIME},
	    {"", WANTED_TIME},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(strstr(rfc3339_wanted(span_str(rows[i].text)), rows[i].wanted), "%s: %s",
		          rows[i].text, rfc3339_wanted(span_str(rows[i].text)));
}

Test(date, a_day_alone)
{
	wall_us at, midnight;
	cr_assert(rfc3339_read(span_str("2024-02-29T00:00:00Z"), &midnight));
	cr_expect(rfc3339_day_read(span_str("2024-02-29"), &at));
	cr_expect_eq(at.v, midnight.v);
	cr_expect_not(rfc3339_day_read(span_str("2026-02-29"), &at));
	cr_expect_not(rfc3339_day_read(span_str("2024-2-29T"), &at));
	cr_expect_not(rfc3339_day_read(span_str("2024-02-29T"), &at));
}

Test(date, every_day_reads_as_it_was_printed)
{
	const int64_t day_us = INT64_C(86400) * US_PER_SEC;
	const int64_t first = read_ok("1599-12-31T23:59:58.001Z").v;
	const int64_t last = read_ok("2405-01-01T00:00:00Z").v;
	for (int64_t at = first; at < last; at += day_us) {
		char text[RFC3339_TEXT];
		rfc3339_text((wall_us){at}, text);
		cr_assert_eq(read_ok(text).v, at, "%s", text);
	}
}

Test(date, reads_durations)
{
	static const struct {
		const char *text;
		int64_t     want_s; /* -1: refused */
	} rows[] = {
	    {"90s", 90},
	    {"5m", 300},
	    {"2h", 7200},
	    {"1d", 86400},
	    {"0s", 0},
	    {"0", 0},
	    {"00", -1},
	    {"36525d", INT64_C(3155760000)},
	    {"36526d", -1},
	    {"", -1},
	    {"s", -1},
	    {"90", -1},
	    {"-1s", -1},
	    {"+1s", -1},
	    {"1.5h", -1},
	    {"1w", -1},
	    {" 1s", -1},
	    {"1s ", -1},
	    {"1 s", -1},
	    {"1S", -1},
	    {"99999999999999999999s", -1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		dur_us got = {-1};
		bool   read = duration_read(span_str(rows[i].text), &got);
		cr_expect_eq(read, rows[i].want_s >= 0, "%s", rows[i].text);
		if (read) cr_expect_eq(got.v, rows[i].want_s * US_PER_SEC, "%s", rows[i].text);
	}
}
