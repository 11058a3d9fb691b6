/* Words for a path that does not exist. */
#include "http/no_route.h"

#include "http/answer.h"
#include "http/bearer.h"

void no_route_explain(const struct exchange *exchange, enum err err, struct span path,
                      struct refusal *refusal)
{
	char          methods[ALLOW_TEXT];
	struct reason reason = {.cause = CAUSE_PATH_UNKNOWN, .wanted = methods};
	route_allow_text(exchange->allow, methods);
	if (err == ERR_METHOD_NOT_ALLOWED)
		reason.cause = CAUSE_METHOD_OTHER;
	else if (!bearer_guards(path))
		reason.cause = CAUSE_PATH_OUTSIDE;
	else if (path.at[path.size - 1] == '/')
		reason.cause = CAUSE_PATH_SLASH;
	(void)!refusal_of(refusal, &reason);
	refusal->field = span_of(NULL, 0);
}

void no_route_answer(struct exchange *exchange, enum err err)
{
	struct refusal refusal;
	no_route_explain(exchange, err, exchange->path, &refusal);
	answer_error(exchange, err, span_of(NULL, 0), span_str(refusal.message));
}
