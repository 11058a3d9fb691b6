#pragma once
#include "schemas/fields.h"

/* The arguments of the messages about readers: see fields.h. */
#define FIELDS_READER_PUT(F)                            \
	F(READER_PUT, id, SELF, STRING, REQUIRED, 0, 0) \
	F(READER_PUT, name, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_READER_LIST(F)

enum { FIELDS_READER_PUT(FIELD_AS_ARGUMENT) ARGS_READER_PUT };
enum { FIELDS_READER_LIST(FIELD_AS_ARGUMENT) ARGS_READER_LIST };
