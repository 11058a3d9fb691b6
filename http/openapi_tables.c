/* The tables behind the OpenAPI document, expanded, and the search for gaps in them. */
#include "http/openapi_tables.h"
#include "http/openapi.h"
#include "schemas/arguments.h"

#include <stdio.h>

_Static_assert((int)ERR_INTERFACE_COUNT <= 64, "a set of the interface's errors is a mask");

static const struct shape_row rows[] = {
#define BASE(name, type, rest)              {ROW_BASE, #name, type, rest, SHAPE_##name, 0},
#define WORDS(name, about)                  {ROW_WORDS, #name, about, "", SHAPE_##name, 0},
#define OBJECT(name, about)                 {ROW_OBJECT, #name, about, "", SHAPE_##name, 0},
#define WORD(text)                          {ROW_WORD, "", text, "", SHAPE_PLAIN, 0},
#define MEMBER(name, type, how, about, ...) MEMBER_ROW(name, type, how, about)
#define MEMBER_ROW(name, type, how, about)  {ROW_MEMBER, #name, about, "", SHAPE_##type, how},
#include "schemas/objects.def"
#undef BASE
#undef WORDS
#undef OBJECT
#undef WORD
#undef MEMBER
#undef MEMBER_ROW
    {ROW_END, "", "", "", SHAPE_PLAIN, 0}};

const struct shape_row *shape_rows(void)
{
	return rows;
}

const struct shape_row *shape_row(enum shape shape)
{
	const struct shape_row *row = rows;
	while (row->kind != ROW_END && (row->shape != shape || row->kind == ROW_MEMBER))
		row++;
	must(row->kind != ROW_END);
	return row;
}

#define E(name) (UINT64_C(1) << ERR_##name)

#define TAG(name, about) {#name, about},
#define COMMON(error, when)
static const struct tag tag_rows[] = {
#include "http/document.def"
    {NULL, NULL}};
#undef TAG
#undef COMMON

#define TAG(name, about)
#define COMMON(error, when) {ERR_##error, when},
static const struct {
	enum err err;
	unsigned when;
} common[] = {
#include "http/document.def"
};

#define ROUTE(op, method, path, status, answer, group, type, summary, errors) \
	[ROUTE_##op] = {#group, SHAPE_##type, summary, errors},
static const struct operation operations[ROUTE_COUNT] = {
#include "schemas/api/begin.def"
#include "schemas/api/all.def"
#include "schemas/api/end.def"
};

/* In the order of message_fields(). */
#define OP(op, ...) static const struct shown_argument shown_##op[] = {
#define IN(op, name, source, field_type, need, min, max, type, characters, standing, about) \
	{SHAPE_##type, characters, standing, about},
#define SELF(...) {SHAPE_PLAIN, 0, "", ""},
#define ARG(...)  {SHAPE_PLAIN, 0, "", ""},
#define END(op)                        \
	{                              \
		SHAPE_PLAIN, 0, "", "" \
	}                              \
	}                              \
	;
#include "schemas/api/begin.def"
#include "schemas/api/all.def"
#include "schemas/api/end.def"

static const struct shown_argument *const shown_lists[MSG_COUNT] = {
#define OP(op, ...) [MSG_##op] = shown_##op,
#include "schemas/api/begin.def"
#include "schemas/api/all.def"
#include "schemas/api/end.def"
};
enum { COMMON_COUNT = sizeof common / sizeof *common };

const struct tag *tags(void)
{
	return tag_rows;
}

const struct operation *operation_of(const struct route *route)
{
	const struct operation *operation = &operations[route_index(route)];
	return operation->tag ? operation : NULL;
}

const struct shown_argument *argument_shown(enum message message, unsigned argument)
{
	return &shown_lists[message][argument];
}

/* --- errors --- */

unsigned operation_traits(const struct route *route)
{
	const struct message_row *row = message_row(route->message);
	bool                writes = route->method != METHOD_GET, body = arguments_have_body(route->message);
	unsigned            count, traits = ANY;
	const struct field *fields = message_fields(route->message, &count);
	bool                input = writes || body;
	for (unsigned i = 0; i < count; i++)
		input = input || fields[i].source == FROM_QUERY;
	if (writes) traits |= WRITES;
	if (body) traits |= BODY;
	if (input) traits |= INPUT;
	if (!row->works_suspended) traits |= SUSPENDABLE;
	if (row->function == FUNCTION_WEBHOOKS) traits |= WEBHOOKS;
	if (row->function == FUNCTION_REWARDS) traits |= REWARDS;
	return traits;
}

uint64_t operation_errors(const struct route *route)
{
	uint64_t errors = operation_of(route)->errors;
	for (unsigned i = 0; i < COMMON_COUNT; i++)
		if ((operation_traits(route) & common[i].when) == common[i].when)
			errors |= UINT64_C(1) << common[i].err;
	return errors;
}

uint64_t errors_of_status(int status)
{
	uint64_t errors = 0;
	for (unsigned err = 1; err < ERR_INTERFACE_COUNT; err++)
		if (err_http((enum err)err) == status) errors |= UINT64_C(1) << err;
	return errors;
}

/* --- gaps --- */

static bool is_tag(const char *name)
{
	const struct tag *tag = tag_rows;
	while (tag->name && strcmp(tag->name, name) != 0)
		tag++;
	return tag->name;
}

static bool route_has_gap(const struct route *route, char text[128])
{
	unsigned                count;
	const char             *name = message_row(route->message)->name;
	const struct field     *fields = message_fields(route->message, &count);
	const struct operation *operation = operation_of(route);
	if (!operation) return false;
	snprintf(text, 128, "%s: no such group in http/document.def", name);
	if (!is_tag(operation->tag)) return true;
	for (unsigned i = 0; i < count; i++) {
		const struct shown_argument *shown = argument_shown(route->message, i);
		snprintf(text, 128, "%s: %s has no words for the document", name, fields[i].name);
		if (fields[i].source != FROM_SELF && !*shown->about) return true;
		snprintf(text, 128, "%s: %s has no type for the document", name, fields[i].name);
		if (fields[i].type == TYPE_VALUE && shown->shape == SHAPE_PLAIN) return true;
	}
	return false;
}

bool openapi_gap(unsigned *at, char text[128])
{
	for (; *at < ROUTE_COUNT; ++*at)
		if (route_has_gap(route_row(*at), text)) return true;
	return false;
}
