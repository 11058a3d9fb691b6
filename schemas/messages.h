#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Messages between processes: properties of each, without its arguments (fields.h). names.def is generated from api/
 * and depends on the names of operations alone, so that other changes there do not recompile everything. */

#define PACKING_VERSION \
	1 /* raise it when a message changes without a change in a file that PROTOCOL is a digest of */

enum role {
#define R(name, text) ROLE_##name,
#include "schemas/roles.def"
#undef R
	ROLE_COUNT
};

enum message {
#define OP(op, receiver) MSG_##op,
#include "schemas/names.def"
#undef OP
	MSG_COUNT
};

enum { SENDERS_KEYLESS = 1 << 16 }; /* beside roles in `senders`: HTTP needs no API key */

enum effect { EFFECT_READ, EFFECT_SCAN, EFFECT_SIGN, EFFECT_WRITE };

/* Functions that an account may have. */
enum function { FUNCTION_ANY, FUNCTION_WEBHOOKS, FUNCTION_REWARDS };

enum about { ABOUT_ACCOUNT, ABOUT_NOBODY };

struct message_row {
	const char   *name; /* "PASS_CREATE" */
	enum role     receiver;
	enum effect   effect;
	unsigned      senders; /* 1 << role, or'ed; SENDERS_KEYLESS */
	bool          works_suspended;
	bool          works_full; /* on a disk that is nearly full */
	enum function function;
	enum about    about;
};

/* The row of a message; NULL for an unknown one (it may come from a peer). */
const struct message_row *message_row(unsigned message);
const char               *role_text(enum role role);
