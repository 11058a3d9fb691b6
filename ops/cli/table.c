/* The status as a table. It reads the JSON that programs get, so that both agree. */
#include "ops/cli/table.h"
#include "schemas/date.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS_MAX = 16, CERTIFICATE_WARN_DAYS = 14, WALLET_WARN_DAYS = 30, DAY_SECONDS = 86400 };

__attribute__((format(printf, 2, 3))) static void add(struct buffer *out, const char *format, ...)
{
	char    text[512];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof text, format, values);
	va_end(values);
	buffer_text(out, text);
}

/* ---- columns ---- */

static size_t cell_at(const char *line)
{
	return strcspn(line, "\t\n");
}

static bool is_number(const char *cell, size_t size)
{
	return size && cell[0] >= '0' && cell[0] <= '9';
}

static void measure(const char *lines, size_t widths[COLUMNS_MAX])
{
	unsigned column = 0;

	while (*lines) {
		size_t size = cell_at(lines);
		if (column < COLUMNS_MAX && size > widths[column]) widths[column] = size;
		column = lines[size] == '\t' ? column + 1 : 0;
		lines += size + (lines[size] != 0);
	}
}

void columns_print(const char *lines, struct buffer *out)
{
	size_t   widths[COLUMNS_MAX] = {0};
	unsigned column = 0;

	measure(lines, widths);
	while (*lines) {
		size_t size = cell_at(lines);
		int    width = column < COLUMNS_MAX && lines[size] == '\t' ? (int)widths[column] : (int)size;
		if (is_number(lines, size)) width = column < COLUMNS_MAX ? (int)widths[column] : (int)size;
		add(out, is_number(lines, size) ? "  %*.*s" : "  %-*.*s", width, (int)size, lines);
		if (lines[size] != '\t') buffer_byte(out, '\n');
		column = lines[size] == '\t' ? column + 1 : 0;
		lines += size + (lines[size] != 0);
	}
}

/* ---- values ---- */

/* "-" if there is none. */
static const char *text_of(const struct json *object, const char *key, char text[64])
{
	const struct json *value = json_member(object, key);

	snprintf(text, 64, "-");
	if (value && (value->kind == JSON_STRING || value->kind == JSON_NUMBER) && value->text.size)
		snprintf(text, 64, "%.*s", (int)value->text.size, (const char *)value->text.at);
	return text;
}

static bool number_of(const struct json *object, const char *key, int64_t *number)
{
	const struct json *value = json_member(object, key);

	*number = 0;
	return value && value->kind == JSON_NUMBER && json_integer(value, number);
}

static bool is_text(const struct json *object, const char *key, const char *text)
{
	const struct json *value = json_member(object, key);

	return value && value->kind == JSON_STRING && span_is(value->text, text);
}

static const struct json *list_of(const struct json *object, const char *key)
{
	const struct json *value = json_member(object, key);

	return value && value->kind == JSON_ARRAY ? value->child : NULL;
}

/* "1.5 GB": three digits are enough for people. */
static const char *size_text(const struct json *object, const char *key, char text[64])
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	int64_t                  number;
	unsigned                 unit = 0;

	if (!number_of(object, key, &number)) return text_of(object, key, text);
	double size = (double)number;
	for (; size >= 1000 && unit < 4; unit++)
		size /= 1000;
	snprintf(text, 64, "%.*f %s", size < 10 && unit ? 1 : 0, size, units[unit]);
	return text;
}

static const char *age_text(const struct json *object, const char *key, char text[64])
{
	int64_t seconds;

	if (!number_of(object, key, &seconds)) return text_of(object, key, text);
	if (seconds < 120)
		snprintf(text, 64, "%" PRId64 " s", seconds);
	else if (seconds < 2 * 3600)
		snprintf(text, 64, "%" PRId64 " min", seconds / 60);
	else if (seconds < 2 * 86400)
		snprintf(text, 64, "%" PRId64 " h", seconds / 3600);
	else
		snprintf(text, 64, "%" PRId64 " d", seconds / 86400);
	return text;
}

/* ---- sections ---- */

static void print_section(const char *title, struct buffer *lines, struct buffer *out)
{
	buffer_byte(lines, 0);
	if (!lines->failed) {
		add(out, "%s%s\n", out->size ? "\n" : "", title);
		columns_print((const char *)lines->at, out);
	}
	out->failed |= lines->failed;
	buffer_free(lines);
}

static void print_processes(const struct json *status, struct buffer *out)
{
	struct buffer lines = {0};
	char          role[64], index[64], pid[64], state[64], epoch[64];

	buffer_text(&lines, "ROLE\tINDEX\tPID\tSTATE\tEPOCH\n");
	for (const struct json *one = list_of(status, "processes"); one; one = one->next)
		add(&lines, "%s\t%s\t%s\t%s\t%s\n", text_of(one, "role", role), text_of(one, "index", index),
		    text_of(one, "pid", pid), text_of(one, "state", state), text_of(one, "epoch", epoch));
	print_section("Processes", &lines, out);
}

static void print_shards(const struct json *status, struct buffer *out)
{
	struct buffer lines = {0};
	char          text[12][64];

	buffer_text(&lines,
	            "SHARD\tACCOUNTS\tPASSES\tJOURNAL SEQ\tJOURNAL\tTABLES\tFREE\tSNAPSHOT AGE\tDUE\tOLDEST "
	            "DUE\tACCEPTS\tISSUER\n");
	for (const struct json *one = list_of(status, "shards"); one; one = one->next) {
		if (json_member(one, "error")) {
			add(&lines, "%s\tno answer: %s\n", text_of(one, "index", text[0]),
			    text_of(one, "error", text[1]));
			continue;
		}
		add(&lines, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
		    text_of(one, "index", text[0]), text_of(one, "accounts", text[1]),
		    text_of(one, "passes", text[2]), text_of(one, "journal_seq", text[3]),
		    size_text(one, "journal_bytes", text[4]), size_text(one, "data_bytes", text[5]),
		    size_text(one, "free_bytes", text[6]), age_text(one, "snapshot_age_seconds", text[7]),
		    text_of(one, "due_deliveries", text[8]), age_text(one, "oldest_due_seconds", text[9]),
		    text_of(one, "accepts", text[10]), text_of(one, "issuer", text[11]));
	}
	print_section("Shards", &lines, out);
}

static void print_endpoints(const struct json *status, struct buffer *out)
{
	struct buffer lines = {0};
	char          text[5][64];
	bool          is_any = false;

	buffer_text(&lines, "ENDPOINT\tRETRIES\tLAST ERROR\tLAST STATUS\tACCOUNT\n");
	for (const struct json *shard = list_of(status, "shards"); shard; shard = shard->next)
		for (const struct json *one = list_of(shard, "failing_subscriptions"); one; one = one->next) {
			is_any = true;
			add(&lines, "%s\t%s\t%s\t%s\t%s\n", text_of(one, "endpoint", text[0]),
			    text_of(one, "retries", text[1]), text_of(one, "last_error", text[2]),
			    text_of(one, "last_status", text[3]), text_of(one, "account_id", text[4]));
		}
	if (is_any)
		print_section("Endpoints with the most retries", &lines, out);
	else
		buffer_free(&lines);
}

/* Whole days until the certificate ends; false: there is none. */
static bool days_left(const struct json *status, wall_us now, int64_t *days)
{
	const struct json *certificate = json_member(status, "certificate");
	const struct json *end = certificate && certificate->kind == JSON_OBJECT
	                             ? json_member(certificate, "not_after")
	                             : NULL;
	wall_us            at;

	if (!end || end->kind != JSON_STRING || !rfc3339_read(end->text, &at)) return false;
	*days = (at.v - now.v) / (86400 * US_PER_SEC) - (at.v < now.v);
	return true;
}

static void print_service(const struct json *status, wall_us now, struct buffer *out)
{
	char    end[64];
	int64_t days;

	buffer_text(out, "\nService\n");
	if (days_left(status, now, &days))
		add(out, "  certificate  %s until %s, %" PRId64 " days\n", days < 0 ? "was valid" : "valid",
		    text_of(json_member(status, "certificate"), "not_after", end), days);
	else
		buffer_text(out, "  certificate  none: plain HTTP\n");
	add(out, "  deliveries   %s\n",
	    is_text(status, "deliveries", "off") ? "off (--no-deliveries)" : "on");
}

/* ---- warnings ---- */

struct warnings {
	struct buffer *out;
	unsigned       count;
};

__attribute__((format(printf, 2, 3))) static void warn(struct warnings *warnings, const char *format, ...)
{
	char    text[256];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof text, format, values);
	va_end(values);
	add(warnings->out, "%s  %s\n", warnings->count++ ? "" : "\nWarnings\n", text);
}

static void warn_of_wallets(const struct json *shard, struct warnings *warnings)
{
	char    account[64], kind[64];
	int64_t left;

	for (const struct json *one = list_of(shard, "wallet_credentials"); one; one = one->next) {
		if (!number_of(one, "seconds_left", &left) || left >= WALLET_WARN_DAYS * DAY_SECONDS)
			continue;
		text_of(one, "account", account);
		text_of(one, "kind", kind);
		if (left <= 0)
			warn(warnings, "wallets of %s: the %s credential has expired", account, kind);
		else
			warn(warnings, "wallets of %s: the %s credential expires in %" PRId64 " days",
			     account, kind, left / DAY_SECONDS);
	}
}

static void warn_of_shard(const struct json *shard, struct warnings *warnings)
{
	char    index[64];
	int64_t number;

	text_of(shard, "index", index);
	if (json_member(shard, "error")) warn(warnings, "shard %s does not answer", index);
	if (json_member(shard, "accepts") && !is_text(shard, "accepts", "all"))
		warn(warnings,
		     "shard %s refuses writes: its disk is nearly full, or its log names another reason",
		     index);
	if (number_of(shard, "snapshot_failures", &number) && number)
		warn(warnings, "shard %s: the last snapshots failed (%" PRId64 ")", index, number);
	if (number_of(shard, "tables_rebuilt", &number) && number)
		warn(warnings, "shard %s rebuilt its tables at its start", index);
	if (is_text(shard, "issuer", "down")) warn(warnings, "shard %s does not hear the timer", index);
	if (is_text(shard, "issuer", "paused")) warn(warnings, "shard %s: issuing is paused", index);
	if (number_of(shard, "oldest_due_seconds", &number) && number >= 60)
		warn(warnings, "shard %s: a delivery has been due for %" PRId64 " s", index, number);
	warn_of_wallets(shard, warnings);
}

static void print_warnings(const struct json *status, wall_us now, struct buffer *out)
{
	struct warnings    warnings = {.out = out};
	const struct json *roots = json_member(status, "root_certificates");
	char               role[64], index[64], state[64];
	int64_t            days;

	for (const struct json *one = list_of(status, "processes"); one; one = one->next)
		if (!is_text(one, "state", "ready"))
			warn(&warnings, "%s %s is %s", text_of(one, "role", role),
			     text_of(one, "index", index), text_of(one, "state", state));
	for (const struct json *one = list_of(status, "shards"); one; one = one->next)
		warn_of_shard(one, &warnings);
	if (roots && roots->kind == JSON_FALSE)
		warn(&warnings, "this host has no root certificates: HTTPS endpoints are refused; install "
		                "ca-certificates");
	if (days_left(status, now, &days) && days < 0)
		warn(&warnings, "the certificate has expired");
	else if (days_left(status, now, &days) && days < CERTIFICATE_WARN_DAYS)
		warn(&warnings, "the certificate expires in %" PRId64 " days", days);
	if (is_text(status, "deliveries", "off")) warn(&warnings, "no endpoint is called: --no-deliveries");
}

void status_table(const struct json *status, wall_us now, struct buffer *out)
{
	print_processes(status, out);
	print_shards(status, out);
	print_endpoints(status, out);
	print_service(status, now, out);
	print_warnings(status, now, out);
}
