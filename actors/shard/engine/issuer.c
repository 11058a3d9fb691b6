/* The issuer: the timer process, reached over the session that it opened. */
#include "actors/shard/engine/engine.h"

bool engine_issuer_up(const struct engine *engine)
{
	return engine->timer_known && engine->now.v - engine->timer_heard.v < HEARTBEAT_LOST_MS * US_PER_MS;
}

bool engine_can_issue(const struct engine *engine)
{
	return engine_issuer_up(engine) && !atomic_load(&engine->facts.issuer_paused);
}

void engine_on_timer_reply(struct engine *engine, const msgpack_object *item)
{
	struct reply reply;
	struct span  text = {NULL, 0};
	if (reply_open(item, &reply)) return; /* the FETCH will time out */
	if (reply.payload->type == MSGPACK_OBJECT_STR) text = arg_span(reply.payload);
	issuance_fetched(&engine->issuance, reply.id, reply.err, text, engine->now);
}

void engine_ask_timer(struct engine *engine)
{
	if (engine->to_timer.count == 0) return;
	struct session *session = session_find(&engine->sessions, &engine->timer);
	struct span     frame = frame_seal_calls(&engine->to_timer, engine->facts.epoch, PLACEMENT_VERSION,
	                                         engine->to_timer.count);
	if (session) window_add(session->window, frame.size);
	if (!session || frame.size == 0 || session_send(session, engine->channel, &engine->to_timer.bytes)) {
		if (session) session_close(&engine->sessions, session); /* so that it sends HELLO again */
		engine->timer_known = false;
	}
	frame_clear(&engine->to_timer); /* calls that did not leave are sent again later */
}
