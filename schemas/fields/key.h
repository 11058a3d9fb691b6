#pragma once
#include "schemas/fields.h"

/* The arguments of the messages about keys: see fields.h. */
#define FIELDS_KEY_CREATE(F) F(KEY_CREATE, key_hash, SELF, BYTES, REQUIRED, 32, 32)
#define FIELDS_KEY_LIST(F)
#define FIELDS_KEY_REVOKE(F) F(KEY_REVOKE, key_id, SELF, STRING, REQUIRED, 0, 0)

enum { FIELDS_KEY_CREATE(FIELD_AS_ARGUMENT) ARGS_KEY_CREATE };
enum { FIELDS_KEY_LIST(FIELD_AS_ARGUMENT) ARGS_KEY_LIST };
enum { FIELDS_KEY_REVOKE(FIELD_AS_ARGUMENT) ARGS_KEY_REVOKE };
