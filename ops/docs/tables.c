/* Prints the program's tables as one JSON value, for ops/docs/generate, which makes the reference pages from them. Not part of
 * the service. The metrics are rendered by the code that serves /metrics, from numbers that let each line appear. */
#include "actors/rt/counts.h"
#include "actors/rt/needs.h"
#include "actors/rt/options.h"
#include "actors/rt/options_inside.h"
#include "http/metrics.h"
#include "http/shard_metrics.h"
#include "schemas/json.h"
#include "schemas/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_text(const char *text)
{
	struct buffer out = {0};

	json_quote(span_str(text), &out);
	must(!out.failed);
	fwrite(out.at, 1, out.size, stdout);
	buffer_free(&out);
}

static void print_member(const char *key, const char *text)
{
	printf(",\"%s\":", key);
	if (text)
		print_text(text);
	else
		fputs("null", stdout);
}

/* ---- options ---- */

static const char *const kinds[] = {
    [TEXT] = "text",         [LIST] = "list",         [FLAG] = "flag",        [NUMBER_U32] = "number",
    [NUMBER_I64] = "number", [NUMBER_INT] = "number", [DURATION] = "duration"};

static void print_option(const struct row *row)
{
	char text[OPTION_DEFAULT_TEXT];
	bool has_default = option_default(row, text);

	fputs("{\"name\":", stdout);
	print_text(row->name);
	print_member("kind", kinds[row->kind]);
	print_member("value", row->value);
	print_member("about", row->about);
	print_member("note", row->note);
	print_member("default", has_default ? text : NULL);
	print_member("unset", row->unset);
	print_member("example", row->example);
	print_member("form", row->form);
	print_member("group", row->group);
	printf(",\"least\":%" PRId64 ",\"most\":", row->min);
	if (row->max == INT64_MAX)
		fputs("null", stdout);
	else
		printf("%" PRId64, row->max);
	printf(",\"reloadable\":%s}", row->reloadable ? "true" : "false");
}

static void print_options(void)
{
	const char *comma = "";

	for (const struct row *row = option_rows; row < option_rows + option_row_count; row++) {
		if (!row->about) continue;
		fputs(comma, stdout);
		comma = ",\n";
		print_option(row);
	}
}

/* ---- limits and errors ---- */

static const struct {
	const char *heading; /* of the rows below it; the others have a name */
	const char *name, *unit, *what, *then;
	enum err    err; /* OK: `then` says what happens */
	int64_t     value;
} limits[] = {
#define H(text) {.heading = text},
#define L(limit, unit_, what_, code) \
	{.name = #limit, .unit = unit_, .what = what_, .err = ERR_##code, .value = limit},
#define N(limit, unit_, what_, end) \
	{.name = #limit, .unit = unit_, .what = what_, .then = end, .value = limit},
#define I(limit)
#include "ops/docs/limits.def"
};

static void print_limits(void)
{
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		printf("%s{\"value\":%" PRId64, i ? ",\n" : "", limits[i].value);
		print_member("heading", limits[i].heading);
		print_member("name", limits[i].name);
		print_member("unit", limits[i].unit);
		print_member("what", limits[i].what);
		print_member("then", limits[i].then);
		print_member("error", limits[i].err ? err_code(limits[i].err) : NULL);
		putchar('}');
	}
}

static void print_errors(void)
{
	for (unsigned err = OK + 1; err < ERR_COUNT; err++) {
		if (err == ERR_INTERFACE_COUNT) continue;
		printf("%s{\"status\":%d,\"is_of_interface\":%s", err > OK + 1 ? ",\n" : "", err_http(err),
		       err < ERR_INTERFACE_COUNT ? "true" : "false");
		print_member("code", err_code(err));
		print_member("message", err_message(err));
		putchar('}');
	}
}

static const struct {
	enum err    err;
	const char *text;
} causes[] = {
#define C(name, code, sentence) {ERR_##code, sentence},
#include "schemas/causes.def"
#undef C
};

static void print_causes(void)
{
	for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
		printf("%s{\"code\":", i ? ",\n" : "");
		print_text(err_code(causes[i].err));
		print_member("text", causes[i].text);
		putchar('}');
	}
}

/* ---- metrics ---- */

static void print_metrics(void)
{
	static struct metrics       thread;
	static struct shard_numbers shard = {
	    .up = true, .failing_count = 1, .ending_count = 1, .has_wallets = true};
	struct metrics_view view = {
	    .threads = {&thread}, .count = 1, .shards = 1, .certificate_ends_s = 1, .has_wallets = true};
	struct buffer out = {0};

	metrics_answered(&thread, NULL, STATUS_FIRST, (dur_us){1});
	metrics_answered(&thread, route_row(ROUTE_WALLET_PACKAGE), STATUS_FIRST, (dur_us){1});
	counts_google_call(STATUS_FIRST);
	memset(shard.known, true, sizeof shard.known);
	snprintf(shard.failing[0].subscription, sizeof shard.failing[0].subscription, "ID");
	snprintf(shard.ending[0].account, sizeof shard.ending[0].account, "ID");
	snprintf(shard.ending[0].kind, sizeof shard.ending[0].kind, "apple");
	snprintf(shard.failing[0].endpoint, sizeof shard.failing[0].endpoint, "HOST:PORT");
	metrics_render(&view, &out);
	shard_numbers_render(&shard, view.shards, &out);
	buffer_byte(&out, 0);
	must(!out.failed);
	print_text((const char *)out.at);
	buffer_free(&out);
}

static void print_outcomes(void)
{
	static const char *const meanings[ATTEMPT_ERRORS + 1] = {
#define W(name, word, what) what,
#include "schemas/attempt.def"
#undef W
		"the endpoint answered with a status other than 2xx"
	};

	for (unsigned i = 0; i <= ATTEMPT_ERRORS; i++) {
		printf("%s{\"outcome\":\"%s\"", i ? ",\n" : "", attempt_outcome(i));
		print_member("meaning",
		             i == ATTEMPT_NONE ? "the endpoint answered with a 2xx status" : meanings[i]);
		putchar('}');
	}
}

static void print_routes(void)
{
	static const char *const methods[METHOD_COUNT] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

	for (unsigned i = 0; i < ROUTE_COUNT; i++) {
		const struct route *route = route_row(i);
		printf("%s{\"method\":\"%s\"", i ? ",\n" : "", methods[route->method]);
		print_member("path", route->path);
		print_member("label", message_row(route->message)->name);
		putchar('}');
	}
}

int main(void)
{
	static const struct {
		const char *before;
		void (*print)(void);
		const char *after;
	} parts[] = {{"{\"options\":[", print_options, "]"},   {",\n\"limits\":[", print_limits, "]"},
	             {",\n\"errors\":[", print_errors, "]"},   {",\n\"causes\":[", print_causes, "]"},
	             {",\n\"routes\":[", print_routes, "]"},   {",\n\"outcomes\":[", print_outcomes, "]"},
	             {",\n\"metrics\":", print_metrics, "}\n"}};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		fputs(parts[i].before, stdout);
		parts[i].print();
		fputs(parts[i].after, stdout);
	}
	return fflush(stdout) ? 1 : 0;
}
