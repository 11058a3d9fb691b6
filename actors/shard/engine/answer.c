/* Writes an answer into the outbox that leaves when everything the answer depends on is durable. */
#include "actors/shard/engine/engine.h"

static void put_answer(struct frame_out *out, const struct call *call, enum err err,
                       const struct outcome *outcome)
{
	struct reply head = {.id = call->id, .err = err, .key_id = call->has_key_id ? &call->key_id : NULL};
	if (outcome) {
		head.flags = outcome->flags;
		head.field = outcome->field;
	}
	frame_reply_of(out, &head);
	if (!err && outcome && outcome->payload->size) {
		buffer_append(&out->bytes, outcome->payload->at, outcome->payload->size);
		return;
	}
	msgpack_packer pk = frame_out_packer(out);
	if (err && outcome && outcome->message)
		pack_text(&pk, outcome->message);
	else
		msgpack_pack_nil(&pk);
}

void engine_answer(struct engine *engine, struct session *session, const struct call *call, enum err err,
                   const struct outcome *outcome)
{
	enum outbox       box = store_open_bytes(engine->store) ? OUTBOX_LATER : OUTBOX_NEXT;
	struct frame_out *out = session_outbox(&engine->sessions, session, box, engine->facts.epoch);
	if (!out) return; /* no memory: the call ends at the caller's deadline */
	size_t before = out->bytes.size;
	put_answer(out, call, err, outcome);
	window_add(session->window, out->bytes.size - before);
}
