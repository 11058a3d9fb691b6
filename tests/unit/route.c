/* http/route.h: from a method and a path to an operation. */
#include "http/route.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct route_match match;

static enum err find(const char *method, const char *path)
{
	return route_find(span_str(method), span_str(path), &match);
}

Test(route, the_table_is_sound)
{
	unsigned row;
	cr_expect(routes_are_sound(&row), "row %u", row);
}

Test(route, every_row_is_found_by_its_own_path)
{
	static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
	for (unsigned i = 0; i < ROUTE_COUNT; i++) {
		const struct route *row = route_row(i);
		char                path[128];
		size_t              size = 0;
		for (const char *at = row->path; *at; at++) { /* `{name}` itself is a valid segment */
			must(size + 1 < sizeof path);
			path[size++] = *at;
		}
		path[size] = '\0';
		cr_assert_eq(find(methods[row->method], path), OK, "%s %s", methods[row->method], row->path);
		cr_expect_eq(match.route, row, "%s %s", methods[row->method], row->path);
		cr_expect_eq(route_index(match.route), i);
	}
}

Test(route, returns_the_ids_of_the_path)
{
	cr_assert_eq(find("POST", "/v1/passes/a%2Fb/loyalty"), OK);
	cr_expect_eq(match.route->message, MSG_PASS_LOYALTY);
	cr_expect(span_is(match.params[0], "a%2Fb"));
	cr_assert_eq(find("GET", "/v1/passes/loyalty"), OK);
	cr_expect_eq(match.route->message, MSG_PASS_GET);
}

Test(route, head_is_get)
{
	cr_assert_eq(find("HEAD", "/v1/passes"), OK);
	cr_expect_eq(match.route->message, MSG_PASS_LIST);
}

Test(route, other_paths_are_not_found)
{
	static const char *const paths[] = {"",
	                                    "/",
	                                    "/v1",
	                                    "/v1/",
	                                    "/v1/passes/",
	                                    "/v1/passess",
	                                    "/v1/passes/a/",
	                                    "/v1/passes//loyalty",
	                                    "/v1/passes/a/loyalty/",
	                                    "/v1/passes/a/b",
	                                    "/v2/passes",
	                                    "v1/passes",
	                                    "/V1/passes"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		cr_expect_eq(find("GET", paths[i]), ERR_ROUTE_NOT_FOUND, "%s", paths[i]);
		cr_expect_null(match.route);
	}
}

Test(route, another_method_gets_the_allowed_ones)
{
	char                     allow[ALLOW_TEXT];
	static const char *const methods[] = {"PUT", "OPTIONS", "get", "", "PATCHX"};
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		cr_expect_eq(find(methods[i], "/v1/passes/x"), ERR_METHOD_NOT_ALLOWED, "%s", methods[i]);
		route_allow_text(match.allow, allow);
		cr_expect_str_eq(allow, "GET, HEAD, PATCH, DELETE");
	}
	cr_expect_eq(find("GET", "/v1/passes/x/loyalty"), ERR_METHOD_NOT_ALLOWED);
	route_allow_text(match.allow, allow);
	cr_expect_str_eq(allow, "POST");
}

Test(route, every_method_fits_an_allow_header)
{
	char allow[ALLOW_TEXT];
	route_allow_text((1u << METHOD_COUNT) - 1, allow);
	cr_expect_str_eq(allow, "GET, HEAD, POST, PUT, PATCH, DELETE");
}
