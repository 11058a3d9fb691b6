#pragma once
#include "schemas/err.h"
#include "schemas/messages.h"
#include "schemas/span.h"

/* The routes of schemas/api/, and how a request finds its row. Pure. */
enum method { METHOD_GET, METHOD_POST, METHOD_PUT, METHOD_PATCH, METHOD_DELETE, METHOD_COUNT };

enum answer_kind {
	ANSWER_NONE,
	ANSWER_OBJECT,
	ANSWER_BEGUN,
	ANSWER_LIST,
	ANSWER_ARRAY,
	ANSWER_REWARDS,
	ANSWER_ENTITLEMENTS,
	ANSWER_SUBSCRIPTIONS,
	ANSWER_PAGE,
	ANSWER_IMAGE,
	ANSWER_PACKAGE,
	ANSWER_LINK,
	ANSWER_PHONE
};

struct route {
	enum method      method;
	const char      *path; /* "/v1/passes/{pass_id}" */
	enum message     message;
	int              status;
	enum answer_kind answer;
};

enum {
#define ROUTE(op) ROUTE_##op,
#include "http/routes.def"
#undef ROUTE
	ROUTE_COUNT
};
enum { ROUTE_PARAMS_MAX = 4 };

struct route_match {
	const struct route *route;                    /* NULL unless OK */
	struct span         params[ROUTE_PARAMS_MAX]; /* the segments that match `{name}`, still encoded */
	unsigned            allow; /* for ERR_METHOD_NOT_ALLOWED: 1 << method of every row with this path */
};

/* Finds the row of `method` and `path` (without its query).
 * Errors: ERR_ROUTE_NOT_FOUND; ERR_METHOD_NOT_ALLOWED, with match->allow. */
must_check enum err route_find(struct span method, struct span path, struct route_match *match);

const struct route *route_row(unsigned index); /* index < ROUTE_COUNT */
unsigned            route_index(const struct route *route);

enum { ALLOW_TEXT = 64 };
/* The value of an Allow header: "GET, HEAD, PATCH". */
void route_allow_text(unsigned allow, char text[ALLOW_TEXT]);

/* Is the table sound: does every `{name}` match the message's next PATH field, with none left over? Called at start and by
 * tests. False: *index is a faulty row. */
bool routes_are_sound(unsigned *index);
