#pragma once
#include "schemas/fields.h"

/* The arguments of the messages about cards: see fields.h. */
#define FIELDS_CARD_LINK(F)                                 \
	F(CARD_LINK, pass_id, SELF, STRING, REQUIRED, 0, 0) \
	F(CARD_LINK, code, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_CARD_UNLINK(F) F(CARD_UNLINK, card_id, SELF, STRING, REQUIRED, 0, 0)
#define FIELDS_CARD_LIST(F)                                              \
	F(CARD_LIST, pass_id, PATH, STRING, REQUIRED, 0, 0)              \
	F(CARD_LIST, limit, QUERY, INTEGER, OPTIONAL, 1, PAGE_LIMIT_MAX) \
	F(CARD_LIST, offset, QUERY, INTEGER, OPTIONAL, 0, INT64_MAX)

enum { FIELDS_CARD_LINK(FIELD_AS_ARGUMENT) ARGS_CARD_LINK };
enum { FIELDS_CARD_UNLINK(FIELD_AS_ARGUMENT) ARGS_CARD_UNLINK };
enum { FIELDS_CARD_LIST(FIELD_AS_ARGUMENT) ARGS_CARD_LIST };
