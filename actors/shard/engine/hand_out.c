/* The timer's question for due deliveries (DELIVERY_LEASE). With nothing due it is kept, and decided again when something
 * is, or when it has waited long enough. There is one at most: a timer asks again when it has the answer, and another
 * question ends the one before. A timer that is silent is given nothing: it may be gone, and each of its attempts would be
 * one that nobody makes. */
#include "actors/shard/engine/engine.h"

#include "actors/shard/engine/saved_call.h"

void engine_forget_question(struct engine *engine)
{
	if (engine->is_asked) saved_call_free(&engine->question);
	engine->is_asked = false;
}

void engine_dismiss_question(struct engine *engine)
{
	struct session *session;
	if (!engine->is_asked) return;
	session = session_find(&engine->sessions, &engine->questioner);
	if (session) engine_answer(engine, session, &engine->question.call, ERR_OVERLOADED, NULL);
	engine_forget_question(engine);
}

enum err engine_keep_question(struct engine *engine, const struct session *session, const struct call *call)
{
	struct saved_call kept;
	enum err          err = saved_call_make(&kept, call);
	if (err) {
		saved_call_free(&kept);
		return err;
	}
	engine_forget_question(engine);
	engine->question = kept;
	engine->questioner = session->peer;
	engine->is_asked = true;
	return OK;
}

bool engine_take_question(struct engine *engine, struct saved_call *question)
{
	if (!engine->is_asked) return false;
	mono_us last = {engine->question.call.deadline.v - LEASE_ANSWER_MS * US_PER_MS};
	bool    is_late = engine->now.v >= last.v;
	if (!engine_issuer_up(engine)) {
		if (is_late) engine_dismiss_question(engine);
		return false;
	}
	if (!is_late && !queue_is_ready(&engine->deliveries, engine->service_now, engine->now)) return false;
	*question = engine->question;
	engine->is_asked = false;
	return true;
}
