/* The document of the interface: nothing is missing, nothing is there twice, and it is JSON. */
#include "http/openapi.h"
#include "http/openapi_tables.h"
#include "schemas/json.h"

#include <criterion/criterion.h>

struct parsed {
	struct buffer text;
	struct arena  arena;
	struct json  *root;
};

static struct parsed document(void)
{
	struct parsed parsed = {0};
	openapi_write(&parsed.text);
	cr_assert(!parsed.text.failed);
	cr_assert_eq(json_parse(buffer_span(&parsed.text), &parsed.arena, &parsed.root), OK, "%.*s",
	             (int)parsed.text.size, (const char *)parsed.text.at);
	return parsed;
}

static void end(struct parsed *parsed)
{
	arena_free(&parsed->arena);
	buffer_free(&parsed->text);
}

Test(openapi, says_all_of_every_operation)
{
	char text[128];
	for (unsigned at = 0; openapi_gap(&at, text); at++)
		cr_expect(false, "%s", text);
}

Test(openapi, has_every_operation_once)
{
	struct parsed      parsed = document();
	const struct json *paths = json_member(parsed.root, "paths");
	unsigned           got = 0, want = 0;
	for (unsigned i = 0; i < ROUTE_COUNT; i++)
		want += strncmp(route_row(i)->path, "/v1/", 4) == 0;
	for (const struct json *path = paths->child; path; path = path->next)
		got += (unsigned)path->count;
	cr_assert_eq(got, want, "got %u of %u", got, want);
	end(&parsed);
}

struct row {
	const char *message, *field;
};

#define TELL(message, field, type, characters, standing, about) {#message, #field},
static const struct row fields[] = {
#include "http/fields.def"
};

static bool is_meant(const struct route *route, struct row row)
{
	unsigned            count;
	const struct field *taken = message_fields(route->message, &count);
	if (strcmp(row.message, "ANY") != 0 && strcmp(row.message, message_row(route->message)->name) != 0)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(taken[i].name, row.field)) return true;
	return false;
}

/* Of two rows for one thing the first would hide the other. */
Test(openapi, has_no_row_twice_and_none_in_vain)
{
	for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++) {
		bool meant = false;
		for (unsigned j = 0; j < i; j++)
			cr_expect(strcmp(fields[i].message, fields[j].message) ||
			              strcmp(fields[i].field, fields[j].field),
			          "%s %s: two rows", fields[i].message, fields[i].field);
		for (unsigned j = 0; j < ROUTE_COUNT; j++)
			meant = meant || is_meant(route_row(j), fields[i]);
		cr_expect(meant, "%s %s: there is no such operation or field", fields[i].message,
		          fields[i].field);
	}
}

Test(openapi, needs_every_type)
{
	struct parsed      parsed = document();
	const struct json *schemas = json_member(json_member(parsed.root, "components"), "schemas");
	for (const struct shape_row *row = shape_rows(); row->kind != ROW_END; row++)
		if (row->kind == ROW_WORDS || row->kind == ROW_OBJECT)
			cr_expect(json_member(schemas, row->name), "nothing is a %s", row->name);
	end(&parsed);
}

/* json_parse() has refused what is there twice under one name: a type, a member, a set of errors. */
Test(openapi, has_a_word_on_every_type_and_member)
{
	for (const struct shape_row *row = shape_rows(); row->kind != ROW_END; row++)
		cr_expect(*row->text || row->kind == ROW_BASE, "%s", row->name);
}

Test(openapi, gives_every_operation_the_errors_of_its_kind)
{
	for (unsigned i = 0; i < ROUTE_COUNT; i++) {
		const struct route *route = route_row(i);
		if (!operation_of(route)) continue;
		uint64_t errors = operation_errors(route);
		bool     writes = route->method != METHOD_GET;
		bool     lives = message_row(route->message)->works_suspended;
		cr_expect(errors & UINT64_C(1) << ERR_UNAUTHENTICATED, "%s", route->path);
		cr_expect_eq(!!(errors & UINT64_C(1) << ERR_OUTCOME_UNKNOWN), writes, "%s", route->path);
		cr_expect_eq(!!(errors & UINT64_C(1) << ERR_ACCOUNT_SUSPENDED), !lives, "%s", route->path);
	}
}

Test(openapi, knows_the_errors_of_a_status)
{
	uint64_t want = UINT64_C(1) << ERR_OVERLOADED | UINT64_C(1) << ERR_SHARD_UNAVAILABLE;
	cr_assert_eq(errors_of_status(503), want);
	cr_assert_eq(errors_of_status(299), 0);
}

Test(openapi, tells_a_field_by_its_own_row_before_the_common_one)
{
	cr_assert_eq(field_told(MSG_PASS_LIST, "status")->shape, SHAPE_PassStatus);
	cr_assert_str_eq(field_told(MSG_PASS_CREATE, "pass_id")->message, "PASS_CREATE");
	cr_assert_str_eq(field_told(MSG_PASS_GET, "pass_id")->message, "ANY");
	cr_assert_str_eq(field_told(MSG_PASS_GET, "unheard_of")->about, "");
}
