/* The message table and its fields, expanded from messages.def and fields/. */
#include "schemas/messages.h"
#include "schemas/err.h"
#include "schemas/fields/all.h"

#include <stddef.h>

#define HTTP    (1u << ROLE_HTTP)
#define SHARD   (1u << ROLE_SHARD)
#define TIMER   (1u << ROLE_TIMER)
#define CLI     (1u << ROLE_CLI)
#define KEYLESS SENDERS_KEYLESS
#define ALLOWED true
#define REFUSED false

static const struct message_row rows[MSG_COUNT] = {
#define M(name, receiver, effect, senders, suspended, full, function, about)             \
	[MSG_##name] = {#name, ROLE_##receiver,     EFFECT_##effect, senders, suspended, \
	                full,  FUNCTION_##function, ABOUT_##about},
#include "schemas/messages.def"
#undef M
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
#define FIELD_AS_ROW(message, name, source, type, need, min, max) \
	{#name, FROM_##source, TYPE_##type, NEED_##need, min, max},
#define M(name, ...)                                                                                    \
	static const struct field fields_##name[] = {FIELDS_##name(FIELD_AS_ROW){NULL, 0, 0, 0, 0, 0}}; \
	_Static_assert((int)ARGS_##name <= (int)ARGS_MAX, "too many arguments: " #name);
#include "schemas/messages.def"
#undef M

static const struct {
	const struct field *at;
	unsigned            count;
} field_lists[MSG_COUNT] = {
#define M(name, ...) [MSG_##name] = {fields_##name, ARGS_##name},
#include "schemas/messages.def"
#undef M
};

const struct field *message_fields(enum message message, unsigned *count)
{
	must(message < MSG_COUNT);
	*count = field_lists[message].count;
	return field_lists[message].at;
}
