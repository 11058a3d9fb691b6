/* The issuer: the timer process, over the session it has opened. Creations wait here for its yes; without it,
 * with it paused or silent, they are refused and nothing of them is stored. */
#include "actors/shard/engine/engine.h"
#include "schemas/api/system.h"

bool engine_issuer_up(const struct engine *engine)
{
	return engine->timer_known && engine->now.v - engine->timer_heard.v < HEARTBEAT_LOST_MS * US_PER_MS;
}

static void pack_prepare(struct engine *engine, const struct parked *parked)
{
	struct call head = {.id = parked->ask_id, .message = MSG_PREPARE, .deadline = parked->due};
	frame_call(&engine->to_timer, &head);
	msgpack_packer pk = frame_out_packer(&engine->to_timer);
	msgpack_pack_array(&pk, ARGS_PREPARE);
	msgpack_pack_uint8(&pk, 0);
}

enum err engine_park(struct engine *engine, struct session *session, const struct call *call)
{
	struct parked *parked;
	mono_us        due = {engine->now.v + PREPARE_DEADLINE_MS * US_PER_MS};
	if (atomic_load(&engine->facts.issuer_paused) || !engine_issuer_up(engine))
		return ERR_PASS_PROVIDER_UNAVAILABLE;
	enum err err = parking_add(&engine->parking, &session->peer, call, due, &parked);
	if (err) return err;
	if (parked->ask_id) pack_prepare(engine, parked);
	return OK;
}

static void turn_away(struct engine *engine, struct parked *parked)
{
	struct session *session = session_find(&engine->sessions, &parked->peer);
	if (session) engine_answer(engine, session, &parked->kept.call, ERR_PASS_PROVIDER_UNAVAILABLE, NULL);
	parked_free(&parked);
}

/* The issuer has said no, or nothing: those that waited behind it would only wait as long again. */
static void refuse_all(struct engine *engine, struct parked *parked)
{
	struct parked *behind;
	while ((behind = parking_take_behind(&engine->parking, parked)))
		turn_away(engine, behind);
	turn_away(engine, parked);
}

/* Those behind see the pass that now holds the id, or take their own turn if it came to nothing. */
static enum err grant(struct engine *engine, struct parked *parked)
{
	struct parked *behind;
	enum err       err = engine_decide_again(engine, &parked->peer, &parked->kept.call);
	while (!err && (behind = parking_take_behind(&engine->parking, parked))) {
		err = engine_decide_again(engine, &behind->peer, &behind->kept.call);
		parked_free(&behind);
	}
	parked_free(&parked);
	return err;
}

enum err engine_on_timer_reply(struct engine *engine, const msgpack_object *item)
{
	struct reply reply;
	if (reply_open(item, &reply)) return OK; /* its time will run out */
	if (reply.id & ASK_ID_FETCH) {
		engine_on_fetched(engine, &reply);
		return OK;
	}
	struct parked *parked = parking_take(&engine->parking, reply.id);
	if (!parked) return OK; /* its time was up */
	if (!reply.err && !atomic_load(&engine->facts.issuer_paused)) return grant(engine, parked);
	refuse_all(engine, parked);
	return OK;
}

void engine_expire_parked(struct engine *engine)
{
	struct parked *parked;
	while ((parked = parking_take_due(&engine->parking, engine->now)))
		refuse_all(engine, parked);
}

void engine_ask_timer(struct engine *engine)
{
	if (engine->to_timer.count == 0) return;
	struct session *session = session_find(&engine->sessions, &engine->timer);
	struct span     frame = frame_seal_calls(&engine->to_timer, engine->facts.epoch, PLACEMENT_VERSION,
	                                         engine->to_timer.count);
	if (session) window_add(session->window, frame.size);
	if (!session || frame.size == 0 || session_send(session, engine->mailbox, &engine->to_timer.bytes)) {
		if (session) session_close(&engine->sessions, session); /* so that it says hello again */
		engine->timer_known = false;
	}
	frame_clear(&engine->to_timer); /* if it did not leave, the creations' time runs out */
}
