/* Webhook signatures, and the text of their secrets. */
#include "schemas/webhook.h"

#include "schemas/hmac.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>

enum { BASE64_BYTES = 44, SECONDS_TEXT = 24 };
static const char secret_prefix[] = "whsec_";
static const char signature_prefix[] = "v1,";
enum { SECRET_PREFIX = sizeof secret_prefix - 1, SIGNATURE_PREFIX = sizeof signature_prefix - 1 };

static void put_base64(const uint8_t bytes[32], char *text)
{
	must(EVP_EncodeBlock((unsigned char *)text, bytes, 32) == BASE64_BYTES);
}

void webhook_secret_write(const uint8_t key[WEBHOOK_KEY_BYTES], char text[WEBHOOK_SECRET_TEXT])
{
	memcpy(text, secret_prefix, SECRET_PREFIX);
	put_base64(key, text + SECRET_PREFIX);
}

bool webhook_secret_read(struct span text, uint8_t key[WEBHOOK_KEY_BYTES])
{
	uint8_t decoded[BASE64_BYTES]; /* the decoder's count includes the padding */
	char    again[WEBHOOK_SECRET_TEXT];
	bool    same = false;

	if (text.size != WEBHOOK_SECRET_TEXT - 1) return false;
	if (EVP_DecodeBlock(decoded, text.at + SECRET_PREFIX, BASE64_BYTES) == WEBHOOK_KEY_BYTES + 1) {
		webhook_secret_write(decoded, again);
		same = memcmp(again, text.at, text.size) == 0;
	}
	if (same) memcpy(key, decoded, WEBHOOK_KEY_BYTES);
	OPENSSL_cleanse(decoded, sizeof decoded);
	OPENSSL_cleanse(again, sizeof again);
	return same;
}

int64_t webhook_seconds(wall_us sent_at)
{
	return sent_at.v / US_PER_SEC;
}

void webhook_sign(const struct webhook *webhook, const uint8_t key[WEBHOOK_KEY_BYTES],
                  char signature[WEBHOOK_SIGNATURE_TEXT])
{
	char    seconds[SECONDS_TEXT];
	uint8_t mac[HMAC_BYTES];
	int digits = snprintf(seconds, sizeof seconds, ".%" PRId64 ".", webhook_seconds(webhook->sent_at));
	struct span pieces[] = {webhook->id, span_of(seconds, (size_t)digits), webhook->body};

	hmac_sha256(key, pieces, 3, mac);
	memcpy(signature, signature_prefix, SIGNATURE_PREFIX);
	put_base64(mac, signature + SIGNATURE_PREFIX);
}
