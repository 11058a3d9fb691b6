/* Finds an audience. */
#include "actors/shard/audience/audience.h"

enum err audience_find(struct request *request, const msgpack_object *argument, struct uuid *id)
{
	enum err err = arg_uuid(argument, id);
	if (!err) err = audience_row_exists(request->view, request->account->id, *id);
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}
