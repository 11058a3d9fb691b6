#pragma once
#include "actors/shard/command.h"
#include "store/audience.h"

/* Reads the id of an audience that an argument names, which must exist. Errors: ERR_RESOURCE_NOT_FOUND, for what is no id too; as
 * view.h. */
must_check enum err audience_find(struct request *request, const msgpack_object *argument, struct uuid *id);
