/* Files of the operator: a map of members, converted to JSON without the member that names a row's key. */
#include "actors/shard/operator_file.h"

#include "schemas/body.h"

/* Splits the map: *member is `key`, *rest the others. */
static enum err take_out(const struct request *request, const msgpack_object *map, const char *key,
                         struct operator_file *file, msgpack_object *rest)
{
	msgpack_object_kv *members = msgpack_zone_malloc(request->zone,
	                                                 sizeof *members * (map->via.map.size + (size_t)1));
	if (!members) return ERR_NO_MEMORY;
	*rest = (msgpack_object){.type = MSGPACK_OBJECT_MAP, .via.map = {0, members}};
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		const msgpack_object_kv *member = &map->via.map.ptr[i];
		if (!span_is(object_text(&member->key), key))
			members[rest->via.map.size++] = *member;
		else if (arg_present(&member->val))
			file->id = &member->val;
	}
	return OK;
}

enum err operator_file_take(struct request *request, const msgpack_object *argument, const char *key,
                            struct operator_file **out)
{
	struct arena         *arena = view_arena(request->view);
	struct operator_file *file = arena_take(arena, sizeof *file);
	msgpack_object        rest;
	*out = file;
	if (!file) return ERR_NO_MEMORY;
	*file = (struct operator_file){.id = NULL};
	enum err err = take_out(request, argument, key, file, &rest);
	if (err || (err = object_text_of(&rest, arena, &file->text))) return err;
	return json_parse(file->text, arena, &file->json);
}

enum err operator_file_blame(struct outcome *outcome, const struct operator_file *file)
{
	outcome->message = file->fault.message;
	return blame(outcome, ERR_INVALID_INPUT, span_str(file->fault.field));
}
