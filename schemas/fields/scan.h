#pragma once
#include "schemas/fields.h"

/* The arguments of the messages about scans: see fields.h. */
#define FIELDS_SCAN_CREATE(F)                                   \
	F(SCAN_CREATE, pass_id, BODY, STRING, OPTIONAL, 0, 0)   \
	F(SCAN_CREATE, qr_value, BODY, STRING, OPTIONAL, 0, 0)  \
	F(SCAN_CREATE, reader_id, BODY, STRING, OPTIONAL, 0, 0) \
	F(SCAN_CREATE, pass_info, QUERY, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_SCAN_LIST(F)                                              \
	F(SCAN_LIST, limit, QUERY, INTEGER, OPTIONAL, 1, PAGE_LIMIT_MAX) \
	F(SCAN_LIST, offset, QUERY, INTEGER, OPTIONAL, 0, INT64_MAX)     \
	F(SCAN_LIST, q, QUERY, STRING, OPTIONAL, 0, 0)                   \
	F(SCAN_LIST, status, QUERY, STRINGS, OPTIONAL, 0, 0)             \
	F(SCAN_LIST, sort_by, QUERY, STRING, OPTIONAL, 0, 0)             \
	F(SCAN_LIST, sort_dir, QUERY, STRING, OPTIONAL, 0, 0)            \
	F(SCAN_LIST, created_from, QUERY, TIME, OPTIONAL, 0, 0)          \
	F(SCAN_LIST, created_to, QUERY, TIME, OPTIONAL, 0, 0)            \
	F(SCAN_LIST, pass_info, QUERY, BOOLEAN, OPTIONAL, 0, 0)
#define FIELDS_SCAN_DELETE(F) F(SCAN_DELETE, scan_id, SELF, STRING, REQUIRED, 0, 0)

enum { FIELDS_SCAN_CREATE(FIELD_AS_ARGUMENT) ARGS_SCAN_CREATE };
enum { FIELDS_SCAN_LIST(FIELD_AS_ARGUMENT) ARGS_SCAN_LIST };
enum { FIELDS_SCAN_DELETE(FIELD_AS_ARGUMENT) ARGS_SCAN_DELETE };
