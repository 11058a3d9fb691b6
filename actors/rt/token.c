/* Download tokens: one AES block under the key of the lineage that made them.
 *
 * A token does not say which key it needs. A reader tries them, oldest first, until a block has the right form. By chance a
 * token may have that form under an older key. Its maker, who knows the older keys, notices this and makes another token of
 * the pass, by the block's last bits. */
#include "actors/rt/token.h"

#include "schemas/aes_block.h"
#include "schemas/base64url.h"
#include "schemas/bytes.h"
#include "schemas/secret.h"

#include <stdio.h>

enum { VARIANTS = 4 }; /* of a pass's token; all of them clashing is practically impossible */

/* --- keys --- */

static enum err derive(const uint8_t master_key[32], const uint8_t lineage[LINEAGE_BYTES],
                       uint8_t key[SECRET_KEY_BYTES])
{
	char purpose[64], of[2 * LINEAGE_BYTES + 1];
	hex_text(lineage, LINEAGE_BYTES, of);
	snprintf(purpose, sizeof purpose, "stampede download links 1 %s", of);
	return secret_key(master_key, purpose, key);
}

enum err token_keys_derive(const uint8_t master_key[32], const struct identity *identity,
                           struct token_keys *keys)
{
	const struct lineages *earlier = &identity->earlier;
	enum err               err = OK;
	for (keys->count = 0; !err && keys->count < earlier->count; keys->count++)
		err = derive(master_key, earlier->of[keys->count], keys->of[keys->count]);
	return err ? err : derive(master_key, identity->lineage, keys->of[keys->count++]);
}

enum err token_keys_load(const struct datadir *datadir, struct token_keys *keys)
{
	uint8_t  master_key[32];
	enum err err = datadir_master_key(datadir, master_key);
	if (!err) err = token_keys_derive(master_key, &datadir->identity, keys);
	explicit_bzero(master_key, sizeof master_key);
	return err;
}

/* --- blocks --- */

/* Decrypts the token with the first `count` keys until one fits. */
static bool find_block(const struct token_keys *keys, uint32_t count, const uint8_t token[16],
                       uint8_t block[16])
{
	for (uint32_t i = 0; i < count; i++) {
		aes_block(keys->of[i], false, token, block);
		if (block[14] == 0 && block[15] < VARIANTS) return true;
	}
	return false;
}

void token_make(const struct token_keys *keys, struct account_id account, uint32_t number, uint8_t token[16])
{
	uint8_t block[16] = {0}, other[16];
	must(keys->count);
	uint32_t own = keys->count - 1;
	memcpy(block, account.b, sizeof account.b);
	put_be32(block + sizeof account.b, number);
	do
		aes_block(keys->of[own], true, block, token);
	while (find_block(keys, own, token, other) && ++block[15] < VARIANTS);
}

bool token_read(const struct token_keys *keys, const uint8_t token[16], struct account_id *account,
                uint32_t *number)
{
	uint8_t block[16];
	if (!find_block(keys, keys->count, token, block)) return false;
	memcpy(account->b, block, sizeof account->b);
	*number = get_be32(block + sizeof account->b);
	return true;
}

/* --- text --- */

void token_text(const uint8_t token[TOKEN_BYTES], char text[TOKEN_TEXT])
{
	base64url_text(span_of(token, TOKEN_BYTES), text);
}

bool token_text_read(struct span text, uint8_t token[TOKEN_BYTES])
{
	return base64url_read(text, token, TOKEN_BYTES);
}
