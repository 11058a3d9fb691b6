/* Errors with a sentence of their own, and errors that name a part of an argument. */
#include "actors/shard/command.h"

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
