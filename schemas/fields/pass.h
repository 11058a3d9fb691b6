#pragma once
#include "schemas/fields.h"

/* The arguments of the messages about passes: see fields.h. */
#define FIELDS_PASS_CREATE(F)                                          \
	F(PASS_CREATE, pass_id, BODY, STRING, REQUIRED, 0, 0)          \
	F(PASS_CREATE, pass_template_id, BODY, STRING, OPTIONAL, 0, 0) \
	F(PASS_CREATE, visible, BODY, OBJECT, OPTIONAL, 0, 0)          \
	F(PASS_CREATE, hidden, BODY, OBJECT, OPTIONAL, 0, 0)           \
	F(PASS_CREATE, appearance, BODY, OBJECT, OPTIONAL, 0, 0)       \
	F(PASS_CREATE, initial_platform, BODY, PLATFORM, OPTIONAL, 0, 0)
#define FIELDS_PASS_GET(F)                                 \
	F(PASS_GET, pass_id, PATH, STRING, REQUIRED, 0, 0) \
	F(PASS_GET, include_deleted, QUERY, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_PASS_LIST(F)                                              \
	F(PASS_LIST, limit, QUERY, INTEGER, OPTIONAL, 1, PAGE_LIMIT_MAX) \
	F(PASS_LIST, offset, QUERY, INTEGER, OPTIONAL, 0, INT64_MAX)     \
	F(PASS_LIST, include_deleted, QUERY, BOOLEAN, OPTIONAL, 0, 0)    \
	F(PASS_LIST, q, QUERY, STRING, OPTIONAL, 0, 0)                   \
	F(PASS_LIST, status, QUERY, STRINGS, OPTIONAL, 0, 0)             \
	F(PASS_LIST, sort_by, QUERY, STRING, OPTIONAL, 0, 0)             \
	F(PASS_LIST, sort_dir, QUERY, STRING, OPTIONAL, 0, 0)            \
	F(PASS_LIST, created_from, QUERY, TIME, OPTIONAL, 0, 0)          \
	F(PASS_LIST, created_to, QUERY, TIME, OPTIONAL, 0, 0)            \
	F(PASS_LIST, updated_from, QUERY, TIME, OPTIONAL, 0, 0)          \
	F(PASS_LIST, updated_to, QUERY, TIME, OPTIONAL, 0, 0)
#define FIELDS_PASS_PATCH(F)                                 \
	F(PASS_PATCH, pass_id, PATH, STRING, REQUIRED, 0, 0) \
	F(PASS_PATCH, visible, BODY, OBJECT, OPTIONAL, 0, 0) \
	F(PASS_PATCH, hidden, BODY, OBJECT, OPTIONAL, 0, 0)  \
	F(PASS_PATCH, appearance, BODY, NULLABLE, OPTIONAL, 0, 0)
#define FIELDS_PASS_DELETE(F) F(PASS_DELETE, pass_id, PATH, STRING, REQUIRED, 0, 0)
#define FIELDS_PASS_LOYALTY(F)                                                              \
	F(PASS_LOYALTY, pass_id, PATH, STRING, REQUIRED, 0, 0)                              \
	F(PASS_LOYALTY, balance_to_add, BODY, INTEGER, REQUIRED, -BALANCE_MAX, BALANCE_MAX) \
	F(PASS_LOYALTY, message, BODY, STRING, OPTIONAL, 0, 0)
#define FIELDS_PASS_PAGE(F) F(PASS_PAGE, token, PATH, STRING, REQUIRED, 0, 0)
#define FIELDS_PASS_IMAGE(F)                               \
	F(PASS_IMAGE, token, PATH, STRING, REQUIRED, 0, 0) \
	F(PASS_IMAGE, image, PATH, STRING, REQUIRED, 0, 0) \
	F(PASS_IMAGE, known, SELF, BYTES, OPTIONAL, 32, 32)
#define FIELDS_PASS_EVENT(F)                                 \
	F(PASS_EVENT, pass_id, SELF, STRING, REQUIRED, 0, 0) \
	F(PASS_EVENT, event, SELF, STRING, REQUIRED, 0, 0)   \
	F(PASS_EVENT, block_reinstall, SELF, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_PASS_HISTORY(F) F(PASS_HISTORY, pass_id, SELF, STRING, REQUIRED, 0, 0)
/* Of passes whose numbers are below `bound`, which the answer tells: one step, and again until there is no more. */
#define FIELDS_PASS_ERASE(F)                                 \
	F(PASS_ERASE, pass_id, SELF, STRING, REQUIRED, 0, 0) \
	F(PASS_ERASE, bound, SELF, INTEGER, OPTIONAL, 0, UINT32_MAX)
/* A page of it; the next is behind what the answer of the one before has as "next". */
#define FIELDS_PASS_EXPORT(F)                                 \
	F(PASS_EXPORT, pass_id, SELF, STRING, REQUIRED, 0, 0) \
	F(PASS_EXPORT, after, SELF, BYTES, OPTIONAL, 1, 64)
/* Of one pass: it has been issued, or could not be, and why; how it stands now. */
#define FIELDS_PASS_ISSUE(F)                                          \
	F(PASS_ISSUE, number, SELF, INTEGER, REQUIRED, 0, UINT32_MAX) \
	F(PASS_ISSUE, in_time, SELF, BOOLEAN, REQUIRED, 0, 0)         \
	F(PASS_ISSUE, error, SELF, STRING, OPTIONAL, 0, CREATION_ERROR_BYTES_MAX)
#define FIELDS_PASS_LOOK(F) F(PASS_LOOK, number, SELF, INTEGER, REQUIRED, 0, UINT32_MAX)

enum { FIELDS_PASS_CREATE(FIELD_AS_ARGUMENT) ARGS_PASS_CREATE };
enum { FIELDS_PASS_GET(FIELD_AS_ARGUMENT) ARGS_PASS_GET };
enum { FIELDS_PASS_LIST(FIELD_AS_ARGUMENT) ARGS_PASS_LIST };
enum { FIELDS_PASS_PATCH(FIELD_AS_ARGUMENT) ARGS_PASS_PATCH };
enum { FIELDS_PASS_DELETE(FIELD_AS_ARGUMENT) ARGS_PASS_DELETE };
enum { FIELDS_PASS_LOYALTY(FIELD_AS_ARGUMENT) ARGS_PASS_LOYALTY };
enum { FIELDS_PASS_PAGE(FIELD_AS_ARGUMENT) ARGS_PASS_PAGE };
enum { FIELDS_PASS_IMAGE(FIELD_AS_ARGUMENT) ARGS_PASS_IMAGE };
enum { FIELDS_PASS_EVENT(FIELD_AS_ARGUMENT) ARGS_PASS_EVENT };
enum { FIELDS_PASS_HISTORY(FIELD_AS_ARGUMENT) ARGS_PASS_HISTORY };
enum { FIELDS_PASS_ERASE(FIELD_AS_ARGUMENT) ARGS_PASS_ERASE };
enum { FIELDS_PASS_EXPORT(FIELD_AS_ARGUMENT) ARGS_PASS_EXPORT };
enum { FIELDS_PASS_ISSUE(FIELD_AS_ARGUMENT) ARGS_PASS_ISSUE };
enum { FIELDS_PASS_LOOK(FIELD_AS_ARGUMENT) ARGS_PASS_LOOK };
