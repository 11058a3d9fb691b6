/* Passes without a phone whose time has come: a command of the shard itself removes each, a few a turn. */
#include "actors/shard/engine/engine.h"

#include "schemas/api/wallet.h"

enum { REMOVALS_A_TURN = 32 };

enum err engine_remove(struct engine *engine, bool *more)
{
	struct removal next;
	enum err       err = OK;
	for (unsigned i = 0; !err && i < REMOVALS_A_TURN && engine_has_room(engine); i++) {
		msgpack_object args[ARGS_WALLET_REMOVE] = {{.type = MSGPACK_OBJECT_NIL}};
		struct call    call = {.message = MSG_WALLET_REMOVE, .has_account = true, .args = args};
		struct outcome outcome = {.payload = &engine->payload};
		enum err       answer;
		if (!removals_take(&engine->removals, engine->service_now, &next)) return OK;
		call.account = next.account;
		args[ARG_WALLET_REMOVE_number] = (msgpack_object){.type = MSGPACK_OBJECT_POSITIVE_INTEGER,
		                                                  .via.u64 = next.pass_number};
		err = engine_decide_own(engine, &call, &outcome, &answer);
		if (!err && answer) err = removals_again(&engine->removals, &next, engine->service_now);
	}
	*more = true;
	return err;
}
