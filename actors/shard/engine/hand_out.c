/* The timer's long poll for due deliveries (DELIVERY_LEASE). If nothing is due, it is kept. It is decided again when a
 * delivery is due, or when it has waited long enough. There is at most one: a timer polls again after each answer, and a new
 * poll ends the earlier one. A silent timer gets nothing: it may be dead, and its leases would count as attempts that were
 * never made. */
#include "actors/shard/engine/engine.h"

#include "actors/shard/engine/saved_call.h"

void engine_forget_poll(struct engine *engine)
{
	if (engine->has_poll) saved_call_free(&engine->lease_poll);
	engine->has_poll = false;
}

void engine_dismiss_poll(struct engine *engine)
{
	struct session *session;
	if (!engine->has_poll) return;
	session = session_find(&engine->sessions, &engine->poller);
	if (session) engine_answer(engine, session, &engine->lease_poll.call, ERR_OVERLOADED, NULL);
	engine_forget_poll(engine);
}

enum err engine_keep_poll(struct engine *engine, const struct session *session, const struct call *call)
{
	struct saved_call kept;
	enum err          err = saved_call_make(&kept, call);
	if (err) {
		saved_call_free(&kept);
		return err;
	}
	engine_forget_poll(engine);
	engine->lease_poll = kept;
	engine->poller = session->peer;
	engine->has_poll = true;
	return OK;
}

bool engine_take_poll(struct engine *engine, struct saved_call *lease_poll)
{
	if (!engine->has_poll) return false;
	mono_us last = {engine->lease_poll.call.deadline.v - LEASE_ANSWER_MS * US_PER_MS};
	bool    is_late = engine->now.v >= last.v;
	if (!engine_issuer_up(engine)) {
		if (is_late) engine_dismiss_poll(engine);
		return false;
	}
	if (!is_late && !queue_is_ready(&engine->deliveries, engine->service_now, engine->now)) return false;
	*lease_poll = engine->lease_poll;
	engine->has_poll = false;
	return true;
}
