#pragma once
#include "actors/shard/command.h"
#include "store/audience.h"

/* Reads the id of the audience that an argument names, and checks that it exists. Errors: ERR_RESOURCE_NOT_FOUND (also for a
 * text that is no id); as view.h. */
must_check enum err audience_find(struct request *request, const msgpack_object *argument, struct uuid *id);
