/* Download tokens, by one AES block. One cipher context a thread, since setting one up costs more than using it. */
#include "actors/shard/token.h"

#include "schemas/err.h"
#include "schemas/bytes.h"

#include <openssl/evp.h>

static void crypt_block(const uint8_t key[32], bool encrypt, const uint8_t from[16], uint8_t to[16])
{
	static _Thread_local EVP_CIPHER_CTX *contexts[2];
	EVP_CIPHER_CTX                     **context = &contexts[encrypt];
	int                                  size = 0;
	if (!*context) {
		must((*context = EVP_CIPHER_CTX_new()));
		must(EVP_CipherInit_ex(*context, EVP_aes_256_ecb(), NULL, key, NULL, encrypt));
		EVP_CIPHER_CTX_set_padding(*context, 0);
	}
	must(EVP_CipherUpdate(*context, to, &size, from, 16) && size == 16);
}

void token_make(const uint8_t master_key[32], struct account_id account, uint32_t number, uint8_t token[16])
{
	uint8_t block[16] = {0};
	memcpy(block, account.b, sizeof account.b);
	put_be32(block + sizeof account.b, number);
	crypt_block(master_key, true, block, token);
}

bool token_read(const uint8_t master_key[32], const uint8_t token[16], struct account_id *account,
                uint32_t *number)
{
	uint8_t block[16];
	crypt_block(master_key, false, token, block);
	memcpy(account->b, block, sizeof account->b);
	*number = get_be32(block + sizeof account->b);
	return block[14] == 0 && block[15] == 0;
}
