#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/span.h"

/* Identifiers: 80 random bits name an account; texts are fixed-length and NUL-terminated.
 *   account   acc_ + 16 base32 characters (a-z2-7, lower case)
 *   API key   sk_<those 16>_<52 base32 characters: 256 random bits>
 *   template  tpl_<those 16>_<number, decimal, from 1>
 *   uuid      version 7: 48 bits of Unix milliseconds, 10 bits of the microseconds within, so that ids are in order of
 *             creation, the rest random
 * Errors: a malformed text reads as false. */
struct account_id {
	uint8_t b[10];
};
enum {
	ACCOUNT_ID_TEXT = 4 + 16 + 1,
	API_KEY_TEXT = 3 + 16 + 1 + 52 + 1,
	TEMPLATE_ID_TEXT = 4 + 16 + 1 + 10 + 1,
	UUID_TEXT = 36 + 1,
};

struct uuid {
	uint8_t b[16];
};

static inline bool account_same(struct account_id a, struct account_id b)
{
	return !memcmp(a.b, b.b, sizeof a.b);
}

static inline bool uuid_same(struct uuid a, struct uuid b)
{
	return !memcmp(a.b, b.b, sizeof a.b);
}

void account_id_text(struct account_id id, char text[ACCOUNT_ID_TEXT]);
bool account_id_read(struct span text, struct account_id *id);

/* Makes the text of a key, `random` being its secret; splits a key into its account and SHA-256(secret part as
 * text). */
void api_key_make(struct account_id account, const uint8_t random[32], char text[API_KEY_TEXT]);
bool api_key_read(struct span text, struct account_id *account, uint8_t hash[32]);

void template_id_text(struct account_id account, uint32_t number, char text[TEMPLATE_ID_TEXT]);
bool template_id_read(struct span text, struct account_id *account, uint32_t *number);

struct uuid uuid_v7(wall_us now, const uint8_t random[10]);
wall_us     uuid_time(struct uuid id); /* `now` of uuid_v7() */
void        uuid_text(struct uuid id, char text[UUID_TEXT]);
bool        uuid_read(struct span text, struct uuid *id); /* lower or upper case, with its four hyphens */

/* Is this valid UTF-8 of 1 to `bytes_max` bytes without control characters? */
bool text_is_plain(struct span text, size_t bytes_max);

/* Is this a pass_id the interface takes: plain text of at most 200 bytes, not "." or ".."? */
bool pass_id_is_valid(struct span text);

/* The fixed placement: account -> slot (of SLOT_COUNT) -> shard (of `shards`). Sessions and backups name its version. */
enum { PLACEMENT_VERSION = 1 };
uint32_t account_slot(struct account_id account);
uint32_t slot_shard(uint32_t slot, uint32_t shards);
