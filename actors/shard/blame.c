/* Errors with a sentence of their own, and those that name what is to blame where that is a part of an argument. */
#include "actors/shard/command.h"
#include "schemas/fields.h"

enum err refuse(struct outcome *outcome, const struct reason *reason)
{
	if (reason->field.at) outcome->field = reason->field;
	if (outcome->text) {
		reason_text(reason, outcome->text);
		outcome->message = outcome->text;
	}
	return cause_err(reason->cause);
}

enum err refuse_member(struct request *request, struct outcome *outcome, const char *object,
                       struct reason reason)
{
	struct span key = reason.field;
	size_t      prefix = strlen(object), size = prefix + 1 + key.size;
	char       *field = msgpack_zone_malloc(request->zone, size);
	if (!field) return ERR_NO_MEMORY;
	memcpy(field, object, prefix);
	field[prefix] = '.';
	if (key.size) memcpy(field + prefix + 1, key.at, key.size);
	reason.field = span_of(field, size);
	return refuse(outcome, &reason);
}

enum err refuse_missing(struct outcome *outcome, enum cause cause, struct span id)
{
	bool is_id = id.size || cause_err(cause) != ERR_RESOURCE_NOT_FOUND;
	return refuse(outcome, &(struct reason){.cause = is_id ? cause : CAUSE_ID_IMPOSSIBLE, .given = id});
}

enum err blame_id(struct outcome *outcome, enum err err, const char *field, enum cause cause, struct span id)
{
	outcome->field = span_str(field);
	return err == cause_err(cause) ? refuse_missing(outcome, cause, id) : err;
}

/* The arguments that name what may not be there. */
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
    {"reward_slug", CAUSE_REWARD_UNKNOWN},
    {"subscription_id", CAUSE_SUBSCRIPTION_UNKNOWN},
    {"pass_template_id", CAUSE_TEMPLATE_UNKNOWN},
};

/* What an argument of this name is missing by such an error; CAUSE_NONE: it names nothing. */
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
		/* A path says by itself what it names. */
		if (fields[i].source == FROM_SELF) outcome->field = span_str(fields[i].name);
		return refuse_missing(outcome, cause, arg_span(arg));
	}
	return err;
}
