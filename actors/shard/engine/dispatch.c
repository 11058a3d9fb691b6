/* From message to handler: the table is the message table, so a row without a handler does not link. */
#include "actors/shard/command.h"

#define SHARD_ROW(name) [MSG_##name] = on_##name,
#define SUPERVISOR_ROW(name)
#define TIMER_ROW(name)

static const handler_fn handlers[MSG_COUNT] = {
#define OP(op, receiver) receiver##_ROW(op)
#include "schemas/names.def"
#undef OP
};

handler_fn handler_of(enum message message)
{
	must(message < MSG_COUNT && handlers[message]);
	return handlers[message];
}
