/* Reading what phones send. */
#include "http/phone_parts.h"

#include "schemas/query.h"

#include <strings.h>

static const char *const places[] = {[WALLET_APPLE] = "/wallet/apple/", [WALLET_GOOGLE] = "/wallet/google/"};
static const struct span nothing = {NULL, 0};

unsigned phone_wallet_at(struct span path)
{
	for (unsigned kind = WALLET_APPLE; kind < WALLET_KIND_END; kind++) {
		size_t size = strlen(places[kind]);
		if (path.size >= size && !memcmp(path.at, places[kind], size)) return kind;
	}
	return 0;
}

bool phone_is_at(struct span path)
{
	return phone_wallet_at(path) != 0;
}

bool phone_account_of(struct span path, struct account_id *account)
{
	unsigned kind = phone_wallet_at(path);
	if (!kind) return false;
	size_t         size = strlen(places[kind]);
	struct span    rest = span_of(path.at + size, path.size - size);
	const uint8_t *end = rest.size ? memchr(rest.at, '/', rest.size) : NULL;
	return end && account_id_read(span_of(rest.at, (size_t)(end - rest.at)), account);
}

struct span phone_auth_of(struct span authorization)
{
	static const char scheme[] = "ApplePass ";
	size_t            begin = sizeof scheme - 1;
	if (authorization.size <= begin || strncasecmp((const char *)authorization.at, scheme, begin))
		return nothing;
	return span_of(authorization.at + begin, authorization.size - begin);
}

bool phone_decode(struct span text, bool is_query, struct arena *arena, struct span *decoded)
{
	size_t   size;
	uint8_t *out = arena_take(arena, text.size + 1);
	if (!out || !percent_decode(text, is_query, out, &size)) return false;
	*decoded = span_of(out, size);
	return true;
}

bool phone_device_is_good(struct span device)
{
	for (size_t i = 0; i < device.size; i++)
		if (device.at[i] <= ' ' || device.at[i] > '~') return false;
	return device.size && device.size <= DEVICE_ID_BYTES_MAX;
}

static bool is_digit(uint8_t byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

bool phone_push_token_is_good(struct span push_token)
{
	for (size_t i = 0; i < push_token.size; i++)
		if (!is_digit(push_token.at[i])) return false;
	return push_token.size && push_token.size <= PUSH_TOKEN_BYTES_MAX;
}

struct span phone_tag_of(struct span query, struct arena *arena)
{
	struct span name, value, decoded;
	while (query_next(&query, &name, &value)) {
		if (!span_is(name, "passesUpdatedSince")) continue;
		return phone_decode(value, true, arena, &decoded) && utf8_is_valid(decoded) ? decoded
		                                                                            : nothing;
	}
	return nothing;
}

/* The member of a body that is an object. */
static enum err member_of(struct span body, const char *name, struct arena *arena, const struct json **member)
{
	struct json *object;
	enum err     err = json_parse(body, arena, &object);
	if (err) return err;
	*member = object->kind == JSON_OBJECT ? json_member(object, name) : NULL;
	return *member ? OK : ERR_INVALID_REQUEST;
}

enum err phone_push_token_of(struct span body, struct arena *arena, struct span *push_token)
{
	const struct json *member;
	enum err           err = member_of(body, "pushToken", arena, &member);
	if (err) return err;
	*push_token = member->text;
	return member->kind == JSON_STRING && phone_push_token_is_good(member->text) ? OK
	                                                                             : ERR_INVALID_REQUEST;
}

enum err phone_logs_of(struct span body, struct arena *arena, const struct json **logs)
{
	enum err err = member_of(body, "logs", arena, logs);
	if (err) return err;
	return (*logs)->kind == JSON_ARRAY ? OK : ERR_INVALID_REQUEST;
}
