/* Finds the route of a method and a path. The table is short and its paths differ early, so a linear search that compares in
 * place is cheapest. */
#include "http/route.h"
#include "schemas/fields.h"

#include <stdio.h>

static const struct route rows[ROUTE_COUNT] = {
#define ROUTE(op, method, path, status, answer, ...) \
	[ROUTE_##op] = {METHOD_##method, path, MSG_##op, status, ANSWER_##answer},
#define PAGE ROUTE
#include "schemas/api/begin.def"
#include "schemas/api/all.def"
#include "schemas/api/end.def"
};

static const char *const method_texts[METHOD_COUNT] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

static enum method method_of(struct span text)
{
	if (span_is(text, "HEAD")) return METHOD_GET;
	unsigned method = 0;
	while (method < METHOD_COUNT && !span_is(text, method_texts[method]))
		method++;
	return (enum method)method;
}

/* Does `path` match `pattern`? A `{name}` matches one non-empty segment. */
static bool path_fits(const char *pattern, struct span path, struct span params[ROUTE_PARAMS_MAX])
{
	size_t   i = 0;
	unsigned count = 0;
	for (; *pattern; pattern++) {
		if (*pattern != '{') {
			if (i == path.size || path.at[i] != (uint8_t)*pattern) return false;
			i++;
			continue;
		}
		size_t begin = i;
		while (i < path.size && path.at[i] != '/')
			i++;
		if (i == begin) return false;
		params[count++] = span_of(path.at + begin, i - begin);
		while (*pattern != '}')
			pattern++;
	}
	return i == path.size;
}

enum err route_find(struct span method_text, struct span path, struct route_match *match)
{
	enum method method = method_of(method_text);
	*match = (struct route_match){0};
	for (unsigned i = 0; i < ROUTE_COUNT; i++) {
		if (rows[i].method != method || !path_fits(rows[i].path, path, match->params)) continue;
		match->route = &rows[i];
		return OK;
	}
	for (unsigned i = 0; i < ROUTE_COUNT; i++)
		if (path_fits(rows[i].path, path, match->params)) match->allow |= 1u << rows[i].method;
	return match->allow ? ERR_METHOD_NOT_ALLOWED : ERR_ROUTE_NOT_FOUND;
}

const struct route *route_row(unsigned index)
{
	must(index < ROUTE_COUNT);
	return &rows[index];
}

unsigned route_index(const struct route *route)
{
	return (unsigned)(route - rows);
}

void route_allow_text(unsigned allow, char text[ALLOW_TEXT])
{
	size_t used = 0;
	text[0] = '\0';
	for (unsigned method = 0; method < METHOD_COUNT; method++) {
		if (!(allow & 1u << method)) continue;
		const char *head = method == METHOD_GET ? ", HEAD" : "";
		int         size = snprintf(text + used, ALLOW_TEXT - used, "%s%s%s", used ? ", " : "",
		                            method_texts[method], head);
		must(size > 0 && (size_t)size < ALLOW_TEXT - used);
		used += (size_t)size;
	}
}

static bool row_is_sound(const struct route *row)
{
	unsigned            count, params = 0;
	const struct field *fields = message_fields(row->message, &count);
	const char         *at = row->path;
	for (unsigned i = 0; i < count; i++) {
		if (fields[i].source == FROM_SELF && row->answer != ANSWER_IMAGE &&
		    row->answer != ANSWER_PHONE)
			return false; /* for page.c and phone.c only */
		if (fields[i].source != FROM_PATH) continue;
		size_t size = strlen(fields[i].name);
		at = strchr(at, '{');
		if (!at || strncmp(at + 1, fields[i].name, size) != 0 || at[1 + size] != '}') return false;
		at += size;
		params++;
	}
	return params <= ROUTE_PARAMS_MAX && !strchr(at, '{');
}

bool routes_are_sound(unsigned *index)
{
	for (*index = 0; *index < ROUTE_COUNT; ++*index)
		if (!row_is_sound(&rows[*index])) return false;
	return true;
}
