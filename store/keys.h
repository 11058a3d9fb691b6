#pragma once
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "schemas/bytes.h"

/* Keys of the tables in tables.def: the account's 10 bytes, then the fields that order the table. A key is a value;
 * key_span() borrows it. Units: bytes. Errors: none (sizes are bounded by their types). */
enum { NAME_KEY_BYTES_MAX = 4 * 100 }; /* of a folded name: 100 code points */
_Static_assert((int)NAME_KEY_BYTES_MAX > (int)PASS_ID_BYTES_MAX, "the longest key is a name's");

struct row_key {
	uint8_t bytes[sizeof(struct account_id) + NAME_KEY_BYTES_MAX + 8];
	size_t  size;
};

static inline struct span key_span(const struct row_key *key)
{
	return span_of(key->bytes, key->size);
}

static inline struct row_key key_account(struct account_id account)
{
	struct row_key key = {.size = sizeof account};
	memcpy(key.bytes, account.b, sizeof account.b);
	return key;
}

static inline struct row_key key_u32(struct account_id account, uint32_t number)
{
	struct row_key key = key_account(account);
	put_be32(key.bytes + key.size, number);
	key.size += 4;
	return key;
}

static inline struct row_key key_u64(struct account_id account, uint64_t number)
{
	struct row_key key = key_account(account);
	put_be64(key.bytes + key.size, number);
	key.size += 8;
	return key;
}

static inline struct row_key key_uuid(struct account_id account, struct uuid id)
{
	struct row_key key = key_account(account);
	memcpy(key.bytes + key.size, id.b, sizeof id.b);
	key.size += sizeof id.b;
	return key;
}

/* Key of a PASS_ID row. The number is stored inverted, so that the newest incarnation of an id comes first. */
static inline struct row_key key_pass_id(struct account_id account, struct span pass_id, uint32_t number)
{
	struct row_key key = key_account(account);
	size_t         size = pass_id.size < PASS_ID_BYTES_MAX ? pass_id.size : PASS_ID_BYTES_MAX;
	memcpy(key.bytes + key.size, pass_id.at, size);
	key.size += size;
	key.bytes[key.size++] = 0;
	put_be32(key.bytes + key.size, ~number);
	key.size += 4;
	return key;
}

/* Sort key of a pass in the order of ids; passes with one id are in order of creation. */
static inline struct row_key key_id_order(struct account_id account, struct span pass_id, uint32_t number)
{
	return key_pass_id(account, pass_id, ~number);
}

/* Key of a NAME row, and sort key of a pass in the order of names. `name` is folded and at most NAME_KEY_BYTES_MAX
 * long. In the key, 0 only ends the name. */
static inline struct row_key key_name(struct account_id account, struct span name, uint32_t number)
{
	struct row_key key = key_account(account);
	for (size_t i = 0; i < name.size && i < NAME_KEY_BYTES_MAX; i++)
		key.bytes[key.size++] = name.at[i] ? name.at[i] : 1;
	key.bytes[key.size++] = 0;
	put_be32(key.bytes + key.size, number);
	key.size += 4;
	return key;
}

/* Keys of a REWARD_SLUG row, and of a REWARD_VERSION row. */
static inline struct row_key key_reward_slug(struct account_id account, struct span slug)
{
	struct row_key key = key_account(account);
	size_t         size = slug.size < NAME_KEY_BYTES_MAX ? slug.size : NAME_KEY_BYTES_MAX;
	if (size) memcpy(key.bytes + key.size, slug.at, size);
	key.size += size;
	return key;
}

static inline struct row_key key_reward_version(struct account_id account, uint32_t family, uint32_t version)
{
	struct row_key key = key_u32(account, family);
	put_be32(key.bytes + key.size, version);
	key.size += 4;
	return key;
}

/* Key of a CARD row: a pass's cards are in the order of their ids. */
static inline struct row_key key_card(struct account_id account, uint32_t pass_number, struct uuid id)
{
	struct row_key key = key_u32(account, pass_number);
	memcpy(key.bytes + key.size, id.b, sizeof id.b);
	key.size += sizeof id.b;
	return key;
}

/* Key of a CARD_CODE row; a code has at most CARD_CODE_BYTES_MAX bytes. */
static inline struct row_key key_card_code(struct account_id account, struct span code)
{
	struct row_key key = key_account(account);
	size_t         size = code.size < CARD_CODE_BYTES_MAX ? code.size : CARD_CODE_BYTES_MAX;
	memcpy(key.bytes + key.size, code.at, size);
	key.size += size;
	return key;
}

static inline bool key_has_prefix(struct span key, struct span prefix)
{
	return key.size >= prefix.size && memcmp(key.at, prefix.at, prefix.size) == 0;
}
