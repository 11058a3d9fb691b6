/* Maps messages to handlers. The map is expanded from the message table, so a row without a handler does not link. */
#include "actors/shard/command.h"
#include "schemas/fields.h"

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

/* Arguments that name a thing, and the cause when it does not exist. */
static const struct {
	const char *name;
	enum cause  cause;
} naming[] = {
    {"pass_id", CAUSE_PASS_UNKNOWN},
    {"key_id", CAUSE_KEY_UNKNOWN},
    {"card_id", CAUSE_CARD_UNKNOWN},
    {"scan_id", CAUSE_SCAN_UNKNOWN},
    {"rule_id", CAUSE_RULE_UNKNOWN},
    {"audience_id", CAUSE_AUDIENCE_UNKNOWN},
    {"notification_id", CAUSE_NOTIFICATION_UNKNOWN},
    {"pass_template_id", CAUSE_TEMPLATE_MISSING},
    {"reward_slug", CAUSE_REWARD_UNKNOWN},
    {"subscription_id", CAUSE_SUBSCRIPTION_UNKNOWN},
    {"pass_template_id", CAUSE_TEMPLATE_UNKNOWN},
};

/* Which thing of that name is missing if a handler returns `err`. CAUSE_NONE: the argument names nothing. */
static enum cause cause_of(const char *name, enum err err)
{
	for (unsigned i = 0; i < sizeof naming / sizeof *naming; i++)
		if (!strcmp(naming[i].name, name) && cause_err(naming[i].cause) == err)
			return naming[i].cause;
	return CAUSE_NONE;
}

enum err handle_request(struct request *request, struct outcome *outcome)
{
	unsigned            count;
	const struct field *fields = message_fields(request->call->message, &count);
	enum err            err = handler_of(request->call->message)(request, outcome);
	for (unsigned i = 0; err && !outcome->message && i < count; i++) {
		const msgpack_object *arg = &request->args[i];
		enum cause            cause = cause_of(fields[i].name, err);
		if (!cause || arg->type != MSGPACK_OBJECT_STR) continue;
		/* A path shows by itself what it names. */
		if (fields[i].source == FROM_SELF) outcome->field = span_str(fields[i].name);
		return refuse_missing(outcome, cause, arg_span(arg));
	}
	return err;
}
