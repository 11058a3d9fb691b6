#pragma once
#include "schemas/fields.h"

/* The arguments of the messages about rewards: see fields.h. */
/* The terms of a reward, which an edit replaces as a whole; need: of those that have no default. */
#define FIELDS_OF_TERMS(F, message, need)                                                      \
	F(message, name, BODY, STRING, need, 1, 0)                                             \
	F(message, kind, BODY, STRING, need, 0, 0)                                             \
	F(message, description, BODY, STRING, OPTIONAL, 0, 0)                                  \
	F(message, repeat_assignment, BODY, BOOLEAN, OPTIONAL, 0, 0)                           \
	F(message, redemption_allowance, BODY, INTEGER, OPTIONAL, 0, REDEMPTION_ALLOWANCE_MAX) \
	F(message, assignment_limit, BODY, INTEGER, OPTIONAL, 1, ASSIGNMENT_LIMIT_MAX)         \
	F(message, expiration, BODY, OBJECT, need, 0, 0)
/* What an edit of a reward may bring back as it was shown, and what is not looked at, but for the slug. */
#define FIELDS_OF_SHOWN_REWARD(F, message)                                      \
	F(message, slug, BODY, VALUE, OPTIONAL, 0, REWARD_SLUG_BYTES_MAX)       \
	F(message, status, BODY, VALUE, OPTIONAL, 0, REWARD_SLUG_BYTES_MAX)     \
	F(message, version, BODY, VALUE, OPTIONAL, 0, REWARD_SLUG_BYTES_MAX)    \
	F(message, created_at, BODY, VALUE, OPTIONAL, 0, REWARD_SLUG_BYTES_MAX) \
	F(message, updated_at, BODY, VALUE, OPTIONAL, 0, REWARD_SLUG_BYTES_MAX)
#define FIELDS_REWARD_CREATE(F)                     \
	FIELDS_OF_TERMS(F, REWARD_CREATE, REQUIRED) \
	F(REWARD_CREATE, slug, BODY, STRING, OPTIONAL, 0, 0)
#define FIELDS_REWARD_LIST(F) F(REWARD_LIST, include_archived, QUERY, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_REWARD_GET(F)  F(REWARD_GET, reward_slug, PATH, STRING, REQUIRED, 0, 0)
#define FIELDS_REWARD_PUT(F)                                     \
	F(REWARD_PUT, reward_slug, PATH, STRING, REQUIRED, 0, 0) \
	FIELDS_OF_TERMS(F, REWARD_PUT, REQUIRED)                 \
	FIELDS_OF_SHOWN_REWARD(F, REWARD_PUT)
#define FIELDS_REWARD_ARCHIVE(F) F(REWARD_ARCHIVE, reward_slug, PATH, STRING, REQUIRED, 0, 0)
#define FIELDS_REWARD_RESTORE(F)                                     \
	F(REWARD_RESTORE, reward_slug, PATH, STRING, REQUIRED, 0, 0) \
	FIELDS_OF_TERMS(F, REWARD_RESTORE, OPTIONAL)                 \
	FIELDS_OF_SHOWN_REWARD(F, REWARD_RESTORE)
#define FIELDS_REWARD_DELETE(F) F(REWARD_DELETE, reward_slug, PATH, STRING, REQUIRED, 0, 0)

enum { FIELDS_REWARD_CREATE(FIELD_AS_ARGUMENT) ARGS_REWARD_CREATE };
enum { FIELDS_REWARD_LIST(FIELD_AS_ARGUMENT) ARGS_REWARD_LIST };
enum { FIELDS_REWARD_GET(FIELD_AS_ARGUMENT) ARGS_REWARD_GET };
enum { FIELDS_REWARD_PUT(FIELD_AS_ARGUMENT) ARGS_REWARD_PUT };
enum { FIELDS_REWARD_ARCHIVE(FIELD_AS_ARGUMENT) ARGS_REWARD_ARCHIVE };
enum { FIELDS_REWARD_RESTORE(FIELD_AS_ARGUMENT) ARGS_REWARD_RESTORE };
enum { FIELDS_REWARD_DELETE(FIELD_AS_ARGUMENT) ARGS_REWARD_DELETE };
