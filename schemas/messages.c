/* The message table and its fields, expanded from api/. */
#include "schemas/messages.h"
#include "schemas/api/all.h"
#include "schemas/backup.h"
#include "schemas/delivery.h"
#include "schemas/err.h"
#include "schemas/fields.h"
#include "schemas/wallet/google_job.h"
#include "schemas/wallet/push.h"
#include "schemas/wallet/shape.h"

#include <stddef.h>

#define HTTP    (1u << ROLE_HTTP)
#define SHARD   (1u << ROLE_SHARD)
#define TIMER   (1u << ROLE_TIMER)
#define CLI     (1u << ROLE_CLI)
#define KEYLESS SENDERS_KEYLESS
#define ALLOWED true
#define REFUSED false

static const struct message_row rows[MSG_COUNT] = {
#define OP(op, receiver, effect, senders, suspended, full, function, about)           \
	[MSG_##op] = {#op,  ROLE_##receiver,     EFFECT_##effect, senders, suspended, \
	              full, FUNCTION_##function, ABOUT_##about},
#include "schemas/api/begin.def"
#include "schemas/api/all.def"
#include "schemas/api/end.def"
};

const struct message_row *message_row(unsigned message)
{
	return message < MSG_COUNT ? &rows[message] : NULL;
}

const char *role_text(enum role role)
{
	static const char *const texts[ROLE_COUNT] = {
#define R(name, text) [ROLE_##name] = text,
#include "schemas/roles.def"
#undef R
	};
	return (unsigned)role < ROLE_COUNT ? texts[role] : "unknown";
}

/* One array per message; the empty last row keeps a message without arguments a legal array. */
#define FIELD(name, source, type, need, min, max)        {#name, FROM_##source, TYPE_##type, NEED_##need, min, max},
#define OP(op, ...)                                      static const struct field fields_##op[] = {
#define IN(op, name, source, type, need, min, max, ...)  FIELD(name, source, type, need, min, max)
#define SELF(op, name, type, need, min, max)             FIELD(name, SELF, type, need, min, max)
#define ARG(op, name, type, need, min, max, form, usage) FIELD(name, SELF, type, need, min, max)
#define END(op)                     \
	{                           \
		NULL, 0, 0, 0, 0, 0 \
	}                           \
	}                           \
	;                           \
	_Static_assert((int)ARGS_##op <= (int)ARGS_MAX, "too many arguments: " #op);
#include "schemas/api/begin.def"
#include "schemas/api/all.def"
#include "schemas/api/end.def"

static const struct {
	const struct field *at;
	unsigned            count;
} field_lists[MSG_COUNT] = {
#define OP(op, ...) [MSG_##op] = {fields_##op, ARGS_##op},
#include "schemas/api/begin.def"
#include "schemas/api/all.def"
#include "schemas/api/end.def"
};

const struct field *message_fields(enum message message, unsigned *count)
{
	must(message < MSG_COUNT);
	*count = field_lists[message].count;
	return field_lists[message].at;
}
