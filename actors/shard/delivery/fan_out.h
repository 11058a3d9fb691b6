#pragma once
#include "actors/shard/command.h"
#include "schemas/event.h"

/* Stages a delivery of the event to each subscription of the request's account that wants it, due at once, in the commit of
 * the fact. `subject`: the number of the pass, or of the scan. Errors: as view.h. */
must_check enum err fan_out(struct request *request, enum event_kind kind, uint32_t subject);
