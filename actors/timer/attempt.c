/* An attempt's state, and what libcurl knows of it. */
#include "actors/timer/egress_inside.h"

/* Attempts reach DIALLING in different ways, so their deadlines are not in order of entry. */
static struct attempt *one_before(const struct attempts *list, const struct attempt *attempt)
{
	struct attempt *before = TAILQ_LAST(list, attempts);

	while (before && before->due.v > attempt->due.v)
		before = TAILQ_PREV(before, attempts, by_age);
	return before;
}

void attempt_move(struct attempt *attempt, enum attempt_state state)
{
	struct attempts *list = &attempt->egress->in[state];
	struct attempt  *before;

	TAILQ_REMOVE(&attempt->egress->in[attempt->state], attempt, by_age);
	attempt->state = state;
	if (state != DIALLING)
		TAILQ_INSERT_TAIL(list, attempt, by_age);
	else if ((before = one_before(list, attempt)))
		TAILQ_INSERT_AFTER(list, before, attempt, by_age);
	else
		TAILQ_INSERT_HEAD(list, attempt, by_age);
}

bool attempt_has_sent(const struct attempt *attempt)
{
	long bytes = 0;
	return !curl_easy_getinfo(attempt->easy, CURLINFO_REQUEST_SIZE, &bytes) && bytes > 0;
}
