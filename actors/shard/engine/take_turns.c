/* Turns of accounts (turns.h): what a call costs, and when kept calls are decided. Kept calls go into an empty record:
 * otherwise other accounts' commands would be synced together with their bytes. */
#include "actors/shard/engine/engine.h"

#include "actors/rt/time.h"

enum { TURNS_US = 1000 }; /* per turn, for kept calls, before packets are read */

static bool takes_turns(const struct session *session, const struct call *call)
{
	const struct message_row *row = message_row(call->message);
	bool                      rpcs = session->role == ROLE_HTTP || session->role == ROLE_CLI;
	return rpcs && call->has_account && row->receiver == ROLE_SHARD;
}

/* The cost in processor time if the elapsed time is long: the process may have been preempted. */
static dur_us cost_since(struct engine *engine, mono_us begun, size_t bytes)
{
	int64_t cost = time_mono().v - begun.v;
	if (cost >= TURN_HEAVY_US) {
		dur_us  spent = time_thread();
		int64_t since = spent.v - engine->spent.v;
		engine->spent = spent;
		if (since < cost) cost = since;
	}
	return (dur_us){cost + turns_cost_of_bytes(bytes, store_byte_ns(engine->store)).v};
}

static dur_us cost_of_answer(size_t bytes)
{
	return (dur_us){(int64_t)bytes * TURN_ANSWER_BYTE_NS / 1000};
}

static enum err decide(struct engine *engine, struct session *session, struct call *call)
{
	size_t  bytes = store_open_bytes(engine->store);
	mono_us begun = time_mono();
	buffer_clear(&engine->payload);
	enum err err = engine_decide_now(engine, session, call);
	size_t   after = store_open_bytes(engine->store);
	dur_us   cost = cost_since(engine, begun, after > bytes ? after - bytes : 0);
	cost.v += cost_of_answer(engine->payload.size).v;
	turns_charge(&engine->turns, call->account, cost, engine->now);
	return err;
}

void engine_charge_result(struct engine *engine, const struct result *result)
{
	if (!result->has_account) return;
	turns_charge(&engine->turns, result->account, cost_of_answer(result->frame.size), engine->now);
}

enum err engine_decide(struct engine *engine, struct session *session, struct call *call)
{
	if (!takes_turns(session, call)) return engine_decide_now(engine, session, call);
	turns_heard(&engine->turns, call->account, engine->now);
	if (!turns_defer(&engine->turns, call->account, engine->now)) return decide(engine, session, call);
	return turns_keep(&engine->turns, &session->peer, call);
}

static enum err take_turns(struct engine *engine)
{
	mono_us      begun = time_mono();
	enum err     err = OK;
	struct turn *turn;
	engine->turns.was_passed_over = false;
	while (!err && engine_has_room(engine) && time_mono().v - begun.v < TURNS_US &&
	       (turn = turns_take(&engine->turns, engine->now))) {
		struct session *session = session_find(&engine->sessions, &turn->peer);
		if (session) err = decide(engine, session, &turn->kept.call);
		turn_free(&turn);
	}
	return err;
}

enum err engine_begin_turns(struct engine *engine)
{
	engine->spent = time_thread();
	bool may = engine->turns.was_passed_over && !store_open_bytes(engine->store);
	return may ? take_turns(engine) : OK;
}

enum err engine_end_turns(struct engine *engine, bool *more)
{
	enum err err = OK;
	if (!engine->turns.count || turns_due(&engine->turns, engine->now).v) return OK;
	if (!store_open_bytes(engine->store)) err = take_turns(engine);
	engine->turns.was_passed_over = turns_due(&engine->turns, engine->now).v == 0;
	/* If a record is open and cannot be submitted, the end of another's sync wakes the process. Without one only reads
	 * were decided. */
	bool can_go_on = store_can_submit(engine->store) || !store_open_bytes(engine->store);
	*more |= engine->turns.was_passed_over && can_go_on;
	return err;
}
