#pragma once
#include "actors/shard/command.h"
#include "schemas/event.h"

/* Stages a delivery of the event, due at once, for each subscription of the request's account that wants it. It is part of the
 * event's commit. `subject`: the number of the pass or scan. Errors: as view.h. */
must_check enum err fan_out(struct request *request, enum event_kind kind, uint32_t subject);
