/* Where a decided call goes: it is answered, kept as a long poll, or waits for a creation. */
#include "actors/shard/engine/engine.h"

enum err engine_decide_now(struct engine *engine, struct session *session, struct call *call)
{
	char           text[REASON_TEXT];
	struct outcome outcome = {.payload = &engine->payload, .text = text};
	enum poll_kind poll = engine_poll_kind(call->message);
	enum err       answer, err = engine_decide_call(engine, session, call, &outcome, &answer);
	if (err) return err;
	if (answer == ERR_PARKED && poll == POLLS) return OK; /* a reader has it */
	/* A new long poll of the timer ends the earlier one. */
	if (poll != POLLS && (!answer || answer == ERR_PARKED)) engine_dismiss_poll(engine, poll);
	if (answer == ERR_PARKED && !(answer = engine_keep_poll(engine, poll, session, call))) return OK;
	if (!answer && outcome.began && engine_let_wait(engine, session, call, &outcome))
		outcome.flags |= REPLY_MORE;
	engine_answer(engine, session, call, answer, &outcome);
	return OK;
}
