/* Small texts of every kind: dates, durations, percent-encoding, queries, ids. The first byte selects the
 * kind. Text that is accepted is written as it was, or reads the same again. */
#include "tests/fuzz/fuzz.h"

#include "schemas/query.h"
#include "schemas/date.h"
#include "schemas/ids.h"
#include "schemas/json.h"
#include "schemas/limits.h"
#include "schemas/lines.h"
#include "schemas/template.h"
#include "schemas/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void check_printed(wall_us at)
{
	char    text[RFC3339_TEXT];
	wall_us again;
	rfc3339_text(at, text);
	must(strlen(text) == RFC3339_TEXT - 1);
	must(rfc3339_read(span_str(text), &again));
	must(again.v <= at.v && at.v - again.v < US_PER_MS);
}

/* The seconds by the C library's calendar. */
static int64_t seconds_of(struct span text)
{
	char      copy[64], zone[16] = "";
	struct tm tm = {0};
	int       hours = 0, minutes = 0, used = 0;
	snprintf(copy, sizeof copy, "%.*s", (int)text.size, (const char *)text.at);
	must(sscanf(copy, "%4d-%2d-%2d%*c%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
	            &tm.tm_min, &tm.tm_sec, &used) == 6);
	if (copy[used] == '.') used += 1 + (int)strspn(copy + used + 1, "0123456789");
	tm.tm_year -= 1900;
	tm.tm_mon--;
	if (sscanf(copy + used, "%1[+-]%2d:%2d", zone, &hours, &minutes) != 3) hours = minutes = 0;
	return timegm(&tm) - (zone[0] == '-' ? -1 : 1) * (hours * 60 + minutes) * 60;
}

static void check_date(struct span text)
{
	wall_us at;
	char    printed[RFC3339_TEXT];
	if (!rfc3339_read(text, &at)) return;
	int64_t since = at.v - seconds_of(text) * US_PER_SEC;
	must(since >= 0 && since < US_PER_SEC);
	check_printed(at);
	/* In our normal form it is printed unchanged. */
	rfc3339_text(at, printed);
	bool ours = text.size == RFC3339_TEXT - 1 && text.at[10] == 'T' && text.at[23] == 'Z' &&
	            text.at[17] != '6'; /* a leap second is printed as the second after it */
	if (ours) must(span_is(text, printed));
}

static void check_any_time(struct span text)
{
	static const int64_t last = INT64_C(253402300799999999); /* the end of 9999 */
	static const int64_t first = INT64_C(-62135596800000000);
	struct supply        supply = {text};
	int64_t              us = (int64_t)supply_number(&supply, 8);
	char                 printed[RFC3339_TEXT];
	rfc3339_text((wall_us){us}, printed); /* any number is printed somehow */
	if (us >= first && us <= last) check_printed((wall_us){us});
}

static void check_duration(struct span text)
{
	dur_us duration;
	char   printed[32];
	if (!duration_read(text, &duration)) return;
	must(duration.v >= 0 && duration.v % US_PER_SEC == 0);
	snprintf(printed, sizeof printed, "%llds", (long long)(duration.v / US_PER_SEC));
	dur_us again;
	must(duration_read(span_str(printed), &again) && again.v == duration.v);
}

/* A copy of exact size: the sanitizer detects a read of one byte more. */
static void check_percent(struct span text)
{
	for (int plus = 0; plus < 2; plus++) {
		size_t   size = 0, again_size;
		uint8_t *out = malloc(text.size), *encoded = malloc(3 * text.size),
		        *again = malloc(3 * text.size);
		must((out && encoded && again) || !text.size);
		if (percent_decode(text, plus, out, &size)) {
			static const char digits[] = "0123456789ABCDEF";
			must(size <= text.size);
			for (size_t i = 0; i < size; i++) {
				encoded[3 * i] = '%';
				encoded[3 * i + 1] = (uint8_t)digits[out[i] >> 4];
				encoded[3 * i + 2] = (uint8_t)digits[out[i] & 15];
			}
			must(percent_decode(span_of(encoded, 3 * size), plus, again, &again_size));
			must(span_equal(span_of(out, size), span_of(again, again_size)));
		}
		free(out);
		free(encoded);
		free(again);
	}
}

static void check_query(struct span text)
{
	struct span rest = text, name, value;
	size_t      used = 0;
	while (query_next(&rest, &name, &value)) {
		must(name.at >= text.at && value.at + value.size <= text.at + text.size);
		must(!name.size || (!memchr(name.at, '=', name.size) && !memchr(name.at, '&', name.size)));
		must(!value.size || !memchr(value.at, '&', value.size));
		used += name.size + value.size + 1;
		must(used <= text.size + 1);
	}
	must(rest.size == 0);
}

static void check_account(struct span text)
{
	struct account_id id;
	char              printed[ACCOUNT_ID_TEXT];
	if (!account_id_read(text, &id)) return;
	account_id_text(id, printed);
	must(span_is(text, printed));
	must(slot_shard(account_slot(id), 7) < 7);
}

static void check_key(struct span text)
{
	struct account_id account;
	uint8_t           hash[32];
	char              printed[ACCOUNT_ID_TEXT];
	if (!api_key_read(text, &account, hash)) return;
	account_id_text(account, printed);
	must(!memcmp(printed + 4, text.at + 3, 16));
}

static void check_template_id(struct span text)
{
	struct account_id account;
	uint32_t          number;
	char              printed[TEMPLATE_ID_TEXT];
	if (!template_id_read(text, &account, &number)) return;
	template_id_text(account, number, printed);
	must(span_is(text, printed));
}

static void check_uuid(struct span text)
{
	struct uuid id, again;
	char        printed[UUID_TEXT];
	if (!uuid_read(text, &id)) return;
	uuid_text(id, printed);
	must(uuid_read(span_str(printed), &again) && uuid_same(id, again));
}

/* Both readers of an id agree whether it is UTF-8. */
static void check_pass_id(struct span text)
{
	if (!pass_id_is_valid(text)) return;
	must(text.size >= 1 && text.size <= PASS_ID_BYTES_MAX && utf8_is_valid(text));
	must(!memchr(text.at, 0, text.size));
}

static void check_small(struct span text)
{
	uint8_t bytes[16];
	char    printed[33];
	if (hex_read(text, bytes, sizeof bytes)) {
		hex_text(bytes, sizeof bytes, printed);
		must(span_is(text, printed));
	}
	if (is_colour(text)) must(text.size == 7);
	if (is_web_url(text)) must(text.size > 7 && !memchr(text.at, ' ', text.size));
}

/* The normal form of an allowed URL is allowed too, and is its own normal form. */
static void check_endpoint(struct span text)
{
	struct buffer normal = {0}, again = {0};
	bool          may = url_check(text, NULL) == OK;

	if (url_normal(text, &normal) == OK) {
		must(normal.size > 8 && !memcmp(normal.at, "https://", 8));
		must(!memchr(normal.at, ' ', normal.size) && !memchr(normal.at, 0, normal.size));
		must(normal.size > URL_BYTES_MAX || url_normal(buffer_span(&normal), &again) == OK);
		must(normal.size > URL_BYTES_MAX || span_equal(buffer_span(&normal), buffer_span(&again)));
		must(normal.size > URL_BYTES_MAX || may == (url_check(buffer_span(&normal), NULL) == OK));
	} else {
		must(!may);
	}
	buffer_free(&normal);
	buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*const checks[])(struct span text) = {
	    check_date, check_any_time,    check_duration, check_percent, check_query, check_account,
	    check_key,  check_template_id, check_uuid,     check_pass_id, check_small, check_endpoint};
	struct supply supply = {span_of(bytes, size)};
	unsigned      which = supply_byte(&supply) % (sizeof checks / sizeof *checks);
	checks[which](supply_rest(&supply));
	return 0;
}
