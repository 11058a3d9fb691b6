/* Download tokens: one AES block under the key of the lineage that made them. One cipher context a thread, because making one
 * costs more than using it; it is freed when the thread ends.
 *
 * A token does not say which key it needs. A reader tries them, oldest first, until a block has the right form. By chance a
 * token may have that form under an older key. Its maker, who knows the older keys, notices this and makes another token of
 * the pass, by the block's last bits.
 *
 * A token's text is base64url without padding, and has one spelling: the last character holds only two bits of the token, and
 * the four below them must be zero. */
#include "actors/rt/token.h"

#include "schemas/bytes.h"
#include "schemas/secret.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>

enum { VARIANTS = 4 }; /* of a pass's token; all of them clashing is practically impossible */

static pthread_key_t  at_end; /* frees a thread's context at its end */
static pthread_once_t once = PTHREAD_ONCE_INIT;

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

static void free_context(void *context)
{
	EVP_CIPHER_CTX_free(context);
}

static void begin(void)
{
	must(!pthread_key_create(&at_end, free_context));
}

static EVP_CIPHER_CTX *new_context(void)
{
	pthread_once(&once, begin);
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	must(context && !pthread_setspecific(at_end, context));
	must(EVP_CipherInit_ex(context, EVP_aes_256_ecb(), NULL, NULL, NULL, 1));
	return context;
}

static void crypt_block(const uint8_t key[32], bool encrypt, const uint8_t from[16], uint8_t to[16])
{
	static _Thread_local EVP_CIPHER_CTX *context;
	int                                  size = 0;
	if (!context) context = new_context();
	must(EVP_CipherInit_ex(context, NULL, NULL, key, NULL, encrypt));
	EVP_CIPHER_CTX_set_padding(context, 0);
	must(EVP_CipherUpdate(context, to, &size, from, 16) && size == 16);
}

/* Decrypts the token with the first `count` keys until one fits. */
static bool find_block(const struct token_keys *keys, uint32_t count, const uint8_t token[16],
                       uint8_t block[16])
{
	for (uint32_t i = 0; i < count; i++) {
		crypt_block(keys->of[i], false, token, block);
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
		crypt_block(keys->of[own], true, block, token);
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

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void token_text(const uint8_t token[TOKEN_BYTES], char text[TOKEN_TEXT])
{
	uint32_t bits = 0, held = 0, at = 0;
	for (unsigned i = 0; i < TOKEN_BYTES; i++) {
		bits = bits << 8 | token[i];
		for (held += 8; held >= 6; held -= 6)
			text[at++] = base64url[bits >> (held - 6) & 63];
	}
	text[at++] = base64url[bits << (6 - held) & 63];
	text[at] = 0;
}

static int value_of(uint8_t c)
{
	if (c >= 'A' && c <= 'Z') return c - 'A';
	if (c >= 'a' && c <= 'z') return c - 'a' + 26;
	if (c >= '0' && c <= '9') return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool token_text_read(struct span text, uint8_t token[TOKEN_BYTES])
{
	uint32_t bits = 0, held = 0, at = 0;
	if (text.size != TOKEN_TEXT - 1) return false;
	for (size_t i = 0; i < text.size; i++) {
		int value = value_of(text.at[i]);
		if (value < 0) return false;
		bits = bits << 6 | (uint32_t)value;
		if ((held += 6) < 8) continue;
		held -= 8;
		token[at++] = (uint8_t)(bits >> held);
	}
	return (bits & ((1u << held) - 1)) == 0;
}
