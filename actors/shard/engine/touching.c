/* Touches: a command of the shard itself makes the passes due that a change of many concerns, some at a time. Each push brings a
 * phone back at once for a list and a package, so there are at most --wallet-bulk-rate a second. */
#include "actors/shard/engine/engine.h"

#include "actors/shard/wallet/touch.h"
#include "schemas/api/wallet.h"

/* One that could not be done comes up again after AGAIN_S. */
enum { STEPS_A_TURN = 4, AGAIN_S = 60 };

/* What may be made due now; what is not used within a second is lost. */
static void add_allowance(struct engine *engine)
{
	struct touching *touching = &engine->touching;
	double           rate = engine->facts.wallet_bulk_rate;
	touching->allowed += rate * (double)mono_since(engine->now, touching->counted).v / (double)US_PER_SEC;
	if (touching->allowed > rate) touching->allowed = rate;
	touching->counted = engine->now;
}

enum err engine_touch(struct engine *engine)
{
	enum err err = OK;
	add_allowance(engine);
	for (unsigned i = 0;
	     !err && i < STEPS_A_TURN && engine->touching.allowed >= 1 && engine_has_room(engine); i++) {
		msgpack_object args[ARGS_WALLET_TOUCH_STEP] = {{.type = MSGPACK_OBJECT_NIL}};
		struct call    call = {.message = MSG_WALLET_TOUCH_STEP, .has_account = true, .args = args};
		struct outcome outcome = {.payload = &engine->payload};
		enum err       answer;
		const struct wallet_work *next = work_take(engine->work, WALLET_DUE_TOUCH,
		                                           engine->service_now);
		if (!next) return OK;
		const struct account_id account = next->account;
		const uint32_t          number = next->number;
		unsigned                count = TOUCH_STEP_MAX;
		if (count > engine->touching.allowed) count = (unsigned)engine->touching.allowed;
		call.account = account;
		args[ARG_WALLET_TOUCH_STEP_number] = (msgpack_object){.type = MSGPACK_OBJECT_POSITIVE_INTEGER,
		                                                      .via.u64 = number};
		args[ARG_WALLET_TOUCH_STEP_count] = (msgpack_object){.type = MSGPACK_OBJECT_POSITIVE_INTEGER,
		                                                     .via.u64 = count};
		err = engine_decide_own(engine, &call, &outcome, &answer);
		engine->touching.allowed -= count;
		wall_us again = {engine->service_now.v + AGAIN_S * US_PER_SEC};
		if (!err && answer) err = work_again(engine->work, account, WALLET_DUE_TOUCH, number, again);
	}
	return err;
}
