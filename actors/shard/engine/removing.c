/* Passes without a phone whose time has come: a command of the shard itself removes each, a few a turn. */
#include "actors/shard/engine/engine.h"

#include "schemas/api/wallet.h"

/* One that could not be done comes up again after AGAIN_S. */
enum { REMOVALS_A_TURN = 32, AGAIN_S = 60 };

enum err engine_remove(struct engine *engine, bool *more)
{
	enum err err = OK;
	for (unsigned i = 0; !err && i < REMOVALS_A_TURN && engine_has_room(engine); i++) {
		msgpack_object args[ARGS_WALLET_REMOVE] = {{.type = MSGPACK_OBJECT_NIL}};
		struct call    call = {.message = MSG_WALLET_REMOVE, .has_account = true, .args = args};
		struct outcome outcome = {.payload = &engine->payload};
		enum err       answer;
		const struct wallet_work *next = work_take(engine->work, WALLET_DUE_REMOVAL,
		                                           engine->service_now);
		if (!next) return OK;
		const struct account_id account = next->account;
		const uint32_t          number = next->number;
		call.account = account;
		args[ARG_WALLET_REMOVE_number] = (msgpack_object){.type = MSGPACK_OBJECT_POSITIVE_INTEGER,
		                                                  .via.u64 = number};
		err = engine_decide_own(engine, &call, &outcome, &answer);
		wall_us again = {engine->service_now.v + AGAIN_S * US_PER_SEC};
		if (!err && answer)
			err = work_again(engine->work, account, WALLET_DUE_REMOVAL, number, again);
	}
	*more = true;
	return err;
}
