/* May the writer decide more in this turn? */
#include "actors/shard/engine/engine.h"

/* On a slow disk, all writes that wait share a record; reads are decided meanwhile. On a quick disk waiting does not pay: a
 * record holds half of the waiting callers, so that callers and shard work at the same time. */
static bool is_full(const struct engine *engine)
{
	if (store_is_quick(engine->store)) return engine->open_commands >= sessions_share(&engine->sessions);
	return engine->open_writes >= BATCH_COMMANDS_MAX;
}

bool engine_has_room(const struct engine *engine)
{
	const size_t *waiting = engine->sessions.full_bytes;
	return !is_full(engine) && store_open_bytes(engine->store) < BATCH_BYTES_MAX &&
	       waiting[OUTBOX_NEXT] + waiting[OUTBOX_LATER] < ANSWERS_WAITING_BYTES_MAX &&
	       !store_wants_commit(engine->store) && !readers_waiting(engine->readers) &&
	       !readers_waiting(engine->signers) && !store_must_wait(engine->store);
}

bool engine_awaits_disk(const struct engine *engine)
{
	if (engine_has_room(engine)) return false;
	return store_is_syncing(engine->store) || store_must_wait(engine->store);
}
