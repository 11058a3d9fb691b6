/* Dates in the interface's forms. The calendar is proleptic Gregorian without leap seconds, counted in days from
 * 1970-01-01. Eras of 400 years (146,097 days) that begin on 1 March make the leap day the last day of a year, so
 * both directions are plain arithmetic. */
#include "schemas/date.h"

#define DAYS_PER_ERA   INT64_C(146097)
#define YEAR_0001      (INT64_C(-719162) * US_PER_DAY)     /* 0001-01-01T00:00:00Z */
#define YEAR_9999_LAST (INT64_C(2932897) * US_PER_DAY - 1) /* the microsecond before 10000-01-01 */
#define DURATION_MAX   (INT64_C(36525) * US_PER_DAY)       /* DURATION_MOST */

static int64_t floor_div(int64_t value, int64_t by)
{
	return value / by - (value % by < 0);
}

static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
	int64_t  march_year = month > 2 ? year : year - 1;
	int64_t  era = floor_div(march_year, 400);
	int64_t  year_of_era = march_year - era * 400;
	unsigned day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	int64_t  day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return era * DAYS_PER_ERA + day_of_era - 719468;
}

static void day_parts(int64_t days, int *year, int *month, int *day)
{
	days += 719468;
	int64_t era = floor_div(days, DAYS_PER_ERA);
	int64_t day_of_era = days - era * DAYS_PER_ERA;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) /
	                      365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t march_month = (5 * day_of_year + 2) / 153;
	*day = (int)(day_of_year - (153 * march_month + 2) / 5 + 1);
	*month = (int)(march_month < 10 ? march_month + 3 : march_month - 9);
	*year = (int)(year_of_era + era * 400 + (*month <= 2));
}

/* A list prints this a hundred times, and snprintf would dominate its cost. */
static char *put_digits(char *to, int places, int value, char after)
{
	for (int place = places; place-- > 0; value /= 10)
		to[place] = (char)('0' + value % 10);
	to[places] = after;
	return to + places + 1;
}

/* "2026-11-20T20:43:00.", and the microseconds that follow. */
static char *put_seconds(wall_us at, char between, char *to, int *us)
{
	int64_t within = at.v < YEAR_0001 ? YEAR_0001 : at.v > YEAR_9999_LAST ? YEAR_9999_LAST : at.v;
	int64_t days = floor_div(within, US_PER_DAY);
	int     seconds = (int)((within - days * US_PER_DAY) / US_PER_SEC);
	int     year, month, day;
	*us = (int)((within - days * US_PER_DAY) % US_PER_SEC);
	day_parts(days, &year, &month, &day);
	to = put_digits(to, 4, year, '-');
	to = put_digits(to, 2, month, '-');
	to = put_digits(to, 2, day, between);
	to = put_digits(to, 2, seconds / 3600, ':');
	to = put_digits(to, 2, seconds / 60 % 60, ':');
	return put_digits(to, 2, seconds % 60, '.');
}

void rfc3339_text(wall_us at, char text[RFC3339_TEXT])
{
	int   us;
	char *to = put_seconds(at, 'T', text, &us);
	*put_digits(to, 3, us / (int)US_PER_MS, 'Z') = '\0';
}

void spaced_date_text(wall_us at, char text[SPACED_DATE_TEXT])
{
	int   us;
	char *to = put_seconds(at, ' ', text, &us);
	memcpy(put_digits(to, 6, us, ' '), "+0000 UTC", sizeof "+0000 UTC");
}

/* The rest of the input; a reader that meets an unexpected byte sets `bad` and continues harmlessly. */
struct reader {
	struct span left;
	bool        bad;
};

static uint8_t read_byte(struct reader *reader)
{
	if (reader->left.size == 0) {
		reader->bad = true;
		return 0;
	}
	uint8_t byte = *reader->left.at++;
	reader->left.size--;
	return byte;
}

static bool next_is_digit(const struct reader *reader)
{
	return reader->left.size > 0 && *reader->left.at >= '0' && *reader->left.at <= '9';
}

static unsigned read_number(struct reader *reader, int places)
{
	unsigned value = 0;
	for (; places > 0; places--) {
		if (!next_is_digit(reader)) reader->bad = true;
		value = value * 10 + (unsigned)(read_byte(reader) - '0');
	}
	return value;
}

static void expect(struct reader *reader, char wanted)
{
	uint8_t byte = read_byte(reader);
	if (byte >= 'a' && byte <= 'z') byte = (uint8_t)(byte - 'a' + 'A');
	if (byte != (uint8_t)wanted) reader->bad = true;
}

/* ".123456789" -> 123456; nothing -> 0. */
static int64_t read_fraction_us(struct reader *reader)
{
	if (reader->left.size == 0 || *reader->left.at != '.') return 0;
	read_byte(reader);
	int64_t us = 0, weight = 100000;
	int     places = 0;
	for (; next_is_digit(reader); places++, weight /= 10)
		us += weight * (read_byte(reader) - '0');
	if (places < 1 || places > 9) reader->bad = true;
	return us;
}

static int64_t read_offset_us(struct reader *reader)
{
	if (reader->left.size == 0 || (*reader->left.at != '+' && *reader->left.at != '-')) {
		expect(reader, 'Z');
		return 0;
	}
	int64_t  sign = read_byte(reader) == '-' ? -1 : 1;
	unsigned hours = read_number(reader, 2);
	expect(reader, ':');
	unsigned minutes = read_number(reader, 2);
	if (hours > 23 || minutes > 59) reader->bad = true;
	return sign * (int64_t)(hours * 60 + minutes) * 60 * US_PER_SEC;
}

static bool is_day(unsigned year, unsigned month, unsigned day)
{
	static const uint8_t lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	if (year < 1 || month < 1 || month > 12 || day < 1) return false;
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return day <= lengths[month - 1] + (unsigned)(month == 2 && leap);
}

/* Clocks here have no leap second: it is read as the second after it, the first of a month in UTC. */
static bool is_after_leap_second(int64_t us)
{
	int64_t days = floor_div(us, US_PER_DAY);
	int     year, month, day;
	day_parts(days, &year, &month, &day);
	return day == 1 && us - days * US_PER_DAY < US_PER_SEC;
}

enum date_fault { DATE_IS_TIME, DATE_FORM, DATE_ZONE, DATE_DAY, DATE_TIME, DATE_RANGE };

static enum date_fault read_time(struct span text, wall_us *at)
{
	struct reader reader = {text, false};
	unsigned      year = read_number(&reader, 4);
	expect(&reader, '-');
	unsigned month = read_number(&reader, 2);
	expect(&reader, '-');
	unsigned day = read_number(&reader, 2);
	expect(&reader, 'T');
	unsigned hour = read_number(&reader, 2);
	expect(&reader, ':');
	unsigned minute = read_number(&reader, 2);
	expect(&reader, ':');
	unsigned second = read_number(&reader, 2);
	int64_t  fraction_us = read_fraction_us(&reader);
	if (!reader.bad && reader.left.size == 0) return DATE_ZONE;
	int64_t offset_us = read_offset_us(&reader);
	if (reader.bad || reader.left.size > 0) return DATE_FORM;
	if (!is_day(year, month, day)) return DATE_DAY;
	if (hour > 23 || minute > 59 || second > 60) return DATE_TIME;
	int64_t seconds = days_of(year, month, day) * 86400 + (hour * 60 + minute) * 60 + second;
	int64_t us = seconds * US_PER_SEC + fraction_us - offset_us;
	if (second == 60 && !is_after_leap_second(us)) return DATE_TIME;
	/* An offset may move the day beyond the years that rfc3339_text() prints. */
	if (us < YEAR_0001 || us > YEAR_9999_LAST) return DATE_RANGE;
	at->v = us;
	return DATE_IS_TIME;
}

bool rfc3339_read(struct span text, wall_us *at)
{
	return read_time(text, at) == DATE_IS_TIME;
}

bool rfc3339_day_read(struct span text, wall_us *at)
{
	char whole[20];
	if (text.size != 10) return false;
	memcpy(whole, text.at, 10);
	memcpy(whole + 10, "T00:00:00Z", 10);
	return rfc3339_read(span_of(whole, sizeof whole), at);
}

const char *rfc3339_wanted(struct span text)
{
	wall_us at;
	switch (read_time(text, &at)) {
	case DATE_ZONE: return "a date-time with a time zone: Z, or an offset such as -06:00";
	case DATE_DAY: return "a date-time of a day that exists";
	case DATE_TIME: return "a date-time from 00:00:00 to 23:59:59";
	case DATE_RANGE: return "a date-time of the years 0001 to 9999";
	case DATE_IS_TIME:
	case DATE_FORM: break;
	}
	return WANTED_TIME;
}

static int64_t unit_us(uint8_t letter)
{
	switch (letter) {
	case 's': return US_PER_SEC;
	case 'm': return 60 * US_PER_SEC;
	case 'h': return 3600 * US_PER_SEC;
	case 'd': return US_PER_DAY;
	default: return 0;
	}
}

bool duration_read(struct span text, dur_us *duration)
{
	if (span_is(text, "0")) {
		duration->v = 0;
		return true;
	}
	if (text.size < 2) return false;
	int64_t unit = unit_us(text.at[text.size - 1]);
	if (unit == 0) return false;
	int64_t number = 0;
	for (size_t i = 0; i + 1 < text.size; i++) {
		if (text.at[i] < '0' || text.at[i] > '9') return false;
		number = number * 10 + (text.at[i] - '0');
		if (number > DURATION_MAX / unit) return false;
	}
	duration->v = number * unit;
	return true;
}
