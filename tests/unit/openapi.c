/* The OpenAPI document: complete, without duplicates, and valid JSON. */
#include "http/openapi.h"
#include "http/openapi_tables.h"
#include "schemas/json.h"

#include "schemas/api/notification.h"
#include "schemas/api/pass.h"

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

Test(openapi, describes_every_operation)
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

Test(openapi, needs_every_type)
{
	struct parsed      parsed = document();
	const struct json *schemas = json_member(json_member(parsed.root, "components"), "schemas");
	for (const struct shape_row *row = shape_rows(); row->kind != ROW_END; row++)
		if (row->kind == ROW_WORDS || row->kind == ROW_OBJECT)
			cr_expect(json_member(schemas, row->name), "nothing is a %s", row->name);
	end(&parsed);
}

/* json_parse() refuses duplicate names: a type, a member, a set of errors. */
Test(openapi, describes_every_type_and_member)
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

Test(openapi, lists_the_errors_of_a_status)
{
	uint64_t want = UINT64_C(1) << ERR_OVERLOADED | UINT64_C(1) << ERR_SHARD_UNAVAILABLE;
	cr_assert_eq(errors_of_status(503), want);
	cr_assert_eq(errors_of_status(299), 0);
}

Test(openapi, describes_an_argument_by_its_own_row)
{
	cr_assert_eq(argument_shown(MSG_PASS_LIST, ARG_PASS_LIST_status)->shape, SHAPE_PassStatus);
	cr_assert_eq(argument_shown(MSG_PASS_CREATE, ARG_PASS_CREATE_pass_id)->characters, PASS_ID_BYTES_MAX);
	cr_assert_str_eq(argument_shown(MSG_NOTIFICATION_LIST, ARG_NOTIFICATION_LIST_limit)->standing, "100");
	cr_assert_str_eq(argument_shown(MSG_PASS_LIST, ARG_PASS_LIST_limit)->standing, "25");
}
