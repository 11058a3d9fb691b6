#pragma once
#include "schemas/fields.h"

/* The arguments of the messages about accounts: see fields.h. */
#define FIELDS_ACCOUNT_CREATE(F)                                   \
	F(ACCOUNT_CREATE, name, SELF, STRING, REQUIRED, 1, 200)    \
	F(ACCOUNT_CREATE, rewards, SELF, BOOLEAN, OPTIONAL, 0, 0)  \
	F(ACCOUNT_CREATE, webhooks, SELF, BOOLEAN, OPTIONAL, 0, 0) \
	F(ACCOUNT_CREATE, key_hash, SELF, BYTES, REQUIRED, 32, 32)
#define FIELDS_ACCOUNT_SET(F)                                                            \
	F(ACCOUNT_SET, rewards, SELF, BOOLEAN, OPTIONAL, 0, 0)                           \
	F(ACCOUNT_SET, webhooks, SELF, BOOLEAN, OPTIONAL, 0, 0)                          \
	F(ACCOUNT_SET, suspended, SELF, BOOLEAN, OPTIONAL, 0, 0)                         \
	F(ACCOUNT_SET, double_scan_window_seconds, SELF, INTEGER, OPTIONAL, 0, 31536000) \
	F(ACCOUNT_SET, rate_limit, SELF, INTEGER, OPTIONAL, 0, 1000000)
#define FIELDS_ACCOUNT_SHOW(F)
#define FIELDS_ACCOUNT_LIST(F)

enum { FIELDS_ACCOUNT_CREATE(FIELD_AS_ARGUMENT) ARGS_ACCOUNT_CREATE };
enum { FIELDS_ACCOUNT_SET(FIELD_AS_ARGUMENT) ARGS_ACCOUNT_SET };
enum { FIELDS_ACCOUNT_SHOW(FIELD_AS_ARGUMENT) ARGS_ACCOUNT_SHOW };
enum { FIELDS_ACCOUNT_LIST(FIELD_AS_ARGUMENT) ARGS_ACCOUNT_LIST };
