#pragma once
#include "schemas/fields.h"

/* The arguments of the messages about audiences: see fields.h. */
#define FIELDS_AUDIENCE_PUT(F)                                     \
	F(AUDIENCE_PUT, audience_id, SELF, STRING, OPTIONAL, 0, 0) \
	F(AUDIENCE_PUT, name, SELF, STRING, REQUIRED, 0, 0)        \
	F(AUDIENCE_PUT, pass_id, SELF, STRINGS, REQUIRED, 0, 0)

enum { FIELDS_AUDIENCE_PUT(FIELD_AS_ARGUMENT) ARGS_AUDIENCE_PUT };
