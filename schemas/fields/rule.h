#pragma once
#include "schemas/fields.h"

/* The arguments of the messages about rules: see fields.h. */
/* `force`: though it names rewards that there are not. */
#define FIELDS_RULE_PUT(F)                              \
	F(RULE_PUT, file, SELF, OBJECT, REQUIRED, 0, 0) \
	F(RULE_PUT, force, SELF, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_RULE_DELETE(F) F(RULE_DELETE, rule_id, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_RULE_LIST(F)                                              \
	F(RULE_LIST, limit, QUERY, INTEGER, OPTIONAL, 1, PAGE_LIMIT_MAX) \
	F(RULE_LIST, offset, QUERY, INTEGER, OPTIONAL, 0, INT64_MAX)

enum { FIELDS_RULE_PUT(FIELD_AS_ARGUMENT) ARGS_RULE_PUT };
enum { FIELDS_RULE_DELETE(FIELD_AS_ARGUMENT) ARGS_RULE_DELETE };
enum { FIELDS_RULE_LIST(FIELD_AS_ARGUMENT) ARGS_RULE_LIST };
