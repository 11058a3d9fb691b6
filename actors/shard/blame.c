/* Errors that name what is to blame for them, where that is a part of an argument. */
#include "actors/shard/command.h"

enum err blame_member(struct request *request, struct outcome *outcome, enum err err, const char *object,
                      struct span key)
{
	size_t prefix = strlen(object), size = prefix + 1 + key.size;
	char  *field = msgpack_zone_malloc(request->zone, size);
	if (!field) return ERR_NO_MEMORY;
	memcpy(field, object, prefix);
	field[prefix] = '.';
	if (key.size) memcpy(field + prefix + 1, key.at, key.size);
	return blame(outcome, err, span_of(field, size));
}
