/* Judging callbacks of Google Wallet. A signature is over several texts, each behind its length in 32 bits little-endian. */
#include "schemas/wallet/google_callback.h"

#include "schemas/ids.h"
#include "schemas/json.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#define PROTOCOL "ECv2SigningOnly"
#define SENDER   "GooglePayPasses"

enum { BASE64_BYTES_MAX = 512, TEXTS_MAX = 4 };

struct texts {
	struct span of[TEXTS_MAX];
	unsigned    count;
};

/* The text of a member; at NULL: it is no text. */
static struct span text_in(const struct json *object, const char *member)
{
	const struct json *found = object && object->kind == JSON_OBJECT ? json_member(object, member) : NULL;
	return found && found->kind == JSON_STRING ? found->text : span_of(NULL, 0);
}

static const struct json *list_in(const struct json *object, const char *member)
{
	const struct json *found = object && object->kind == JSON_OBJECT ? json_member(object, member) : NULL;
	return found && found->kind == JSON_ARRAY ? found : NULL;
}

/* A time that is later than now, as a number or as a text of digits. */
static bool is_ahead(const struct json *object, const char *member, int64_t now_ms, int64_t *time_ms)
{
	const struct json *found = object && object->kind == JSON_OBJECT ? json_member(object, member) : NULL;
	if (!found || (found->kind != JSON_NUMBER && found->kind != JSON_STRING)) return false;
	struct json number = *found;
	for (size_t i = 0; i < number.text.size; i++)
		if (number.text.at[i] < '0' || number.text.at[i] > '9') return false;
	number.kind = JSON_NUMBER;
	return number.text.size && json_integer(&number, time_ms) && *time_ms > now_ms;
}

/* Standard base64 with its padding. Errors: 0: it is none, or too long. */
static size_t base64_read(struct span text, uint8_t bytes[BASE64_BYTES_MAX])
{
	size_t padding = 0;
	if (!text.size || text.size % 4 || text.size / 4 * 3 > BASE64_BYTES_MAX) return 0;
	while (padding < 2 && text.at[text.size - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < text.size - padding; i++) {
		uint8_t c = text.at[i], letter = c | 0x20;
		if (!((letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/'))
			return 0;
	}
	int size = EVP_DecodeBlock(bytes, text.at, (int)text.size);
	return size < 0 ? 0 : (size_t)size - padding;
}

/* Errors: NULL: it is no public key on P-256. */
static EVP_PKEY *key_open(struct span text)
{
	uint8_t              bytes[BASE64_BYTES_MAX];
	const unsigned char *at = bytes;
	char                 group[32] = "";
	size_t               size = text.at ? base64_read(text, bytes) : 0;
	EVP_PKEY            *key = size ? d2i_PUBKEY(NULL, &at, (long)size) : NULL;
	if (key && at == bytes + size && EVP_PKEY_get_group_name(key, group, sizeof group, NULL) == 1 &&
	    !strcmp(group, "prime256v1"))
		return key;
	EVP_PKEY_free(key);
	return NULL;
}

static bool digest_texts(EVP_MD_CTX *context, const struct texts *texts)
{
	for (unsigned i = 0; i < texts->count; i++) {
		uint32_t size = (uint32_t)texts->of[i].size;
		uint8_t  length[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
		                      (uint8_t)(size >> 24)};
		if (EVP_DigestVerifyUpdate(context, length, sizeof length) != 1) return false;
		if (EVP_DigestVerifyUpdate(context, texts->of[i].at, size) != 1) return false;
	}
	return true;
}

static bool is_signed_by(EVP_PKEY *key, struct span signature, const struct texts *texts)
{
	uint8_t     bytes[BASE64_BYTES_MAX];
	size_t      size = signature.at ? base64_read(signature, bytes) : 0;
	EVP_MD_CTX *context = size ? EVP_MD_CTX_new() : NULL;
	bool        good = context && EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
	            digest_texts(context, texts) && EVP_DigestVerifyFinal(context, bytes, size) == 1;
	EVP_MD_CTX_free(context);
	ERR_clear_error();
	return good;
}

static bool is_signed(struct span key_text, struct span signature, const struct texts *texts)
{
	EVP_PKEY *key = key_open(key_text);
	bool      good = key && is_signed_by(key, signature, texts);
	EVP_PKEY_free(key);
	ERR_clear_error();
	return good;
}

/* Does one of the signatures hold? The key is opened once: that takes twice as long as a check. */
static bool is_one_signed(struct span key_text, const struct json *signatures, const struct texts *texts)
{
	EVP_PKEY *key = key_open(key_text);
	bool      good = false;
	for (const struct json *one = signatures->child; key && one && !good; one = one->next)
		good = one->kind == JSON_STRING && is_signed_by(key, one->text, texts);
	EVP_PKEY_free(key);
	ERR_clear_error();
	return good;
}

/* Does one of the signatures hold under a root key whose end lies ahead? */
static bool is_of_a_root(const struct json *roots, const struct json *signatures, int64_t now_ms,
                         const struct texts *texts)
{
	const struct json *root = roots->child;
	for (unsigned i = 0; root && i < GOOGLE_ROOTS_MAX; i++, root = root->next) {
		int64_t ends_ms;
		if (!span_is(text_in(root, "protocolVersion"), PROTOCOL)) continue;
		if (!is_ahead(root, "keyExpiration", now_ms, &ends_ms)) continue;
		if (is_one_signed(text_in(root, "keyValue"), signatures, texts)) return true;
	}
	return false;
}

/* The intermediate key's text, if a root signed it and its end lies ahead. Errors: ERR_INVALID_REQUEST, ERR_NO_MEMORY. */
static enum err middle_key(const struct json *body, const struct google_judge *judge, struct arena *arena,
                           struct span *key)
{
	const struct json *middle = json_member(body, "intermediateSigningKey");
	const struct json *signatures = list_in(middle, "signatures");
	struct span        signed_key = text_in(middle, "signedKey");
	struct texts       texts = {{span_str(SENDER), span_str(PROTOCOL), signed_key}, 3};
	struct json       *roots = NULL, *opened = NULL;
	int64_t            ends_ms;
	if (!signed_key.at || !signatures || signatures->count > GOOGLE_SIGNATURES_MAX)
		return ERR_INVALID_REQUEST;
	enum err err = json_parse(judge->roots, arena, &roots);
	if (err) return err == ERR_NO_MEMORY ? err : ERR_INVALID_REQUEST;
	const struct json *keys = list_in(roots, "keys");
	if (!keys || !is_of_a_root(keys, signatures, judge->now_ms, &texts)) return ERR_INVALID_REQUEST;
	err = json_parse(signed_key, arena, &opened);
	if (err) return err == ERR_NO_MEMORY ? err : ERR_INVALID_REQUEST;
	*key = text_in(opened, "keyValue");
	return is_ahead(opened, "keyExpiration", judge->now_ms, &ends_ms) ? OK : ERR_INVALID_REQUEST;
}

static bool is_usable(struct span text)
{
	return text.at && text.size && text_is_plain(text, GOOGLE_CALLBACK_TEXT_MAX);
}

static enum err message_read(struct span text, int64_t now_ms, struct arena *arena,
                             struct google_callback *callback)
{
	struct json *message = NULL;
	enum err     err = json_parse(text, arena, &message);
	if (err) return err == ERR_NO_MEMORY ? err : ERR_INVALID_REQUEST;
	struct span event = text_in(message, "eventType");
	*callback = (struct google_callback){.object_id = text_in(message, "objectId"),
	                                     .class_id = text_in(message, "classId"),
	                                     .nonce = text_in(message, "nonce")};
	if (span_is(event, "save")) callback->event = GOOGLE_SAVED;
	if (span_is(event, "del")) callback->event = GOOGLE_DELETED;
	bool good = callback->event && is_usable(callback->object_id) && is_usable(callback->class_id) &&
	            is_usable(callback->nonce) &&
	            is_ahead(message, "expTimeMillis", now_ms, &callback->ends_ms);
	return good ? OK : ERR_INVALID_REQUEST;
}

bool google_keys_are_some(struct span text, struct arena *arena)
{
	struct json *roots = NULL;
	if (json_parse(text, arena, &roots)) return false;
	const struct json *keys = list_in(roots, "keys");
	const struct json *root = keys ? keys->child : NULL;
	for (unsigned i = 0; root && i < GOOGLE_ROOTS_MAX; i++, root = root->next)
		if (span_is(text_in(root, "protocolVersion"), PROTOCOL) && text_in(root, "keyValue").size)
			return true;
	return false;
}

enum err google_callback_open(struct span body, const struct google_judge *judge, struct arena *arena,
                              struct google_opened *opened)
{
	struct json *call = NULL;
	enum err     err = json_parse(body, arena, &call);
	if (err) return err == ERR_NO_MEMORY ? err : ERR_INVALID_REQUEST;
	*opened = (struct google_opened){.message = text_in(call, "signedMessage"),
	                                 .signature = text_in(call, "signature")};
	if (!opened->message.at || !span_is(text_in(call, "protocolVersion"), PROTOCOL))
		return ERR_INVALID_REQUEST;
	return middle_key(call, judge, arena, &opened->key);
}

bool google_callback_is_for(const struct google_opened *opened, struct span issuer_id)
{
	struct texts texts = {{span_str(SENDER), issuer_id, span_str(PROTOCOL), opened->message}, 4};
	return is_signed(opened->key, opened->signature, &texts);
}

enum err google_callback_message(const struct google_opened *opened, int64_t now_ms, struct arena *arena,
                                 struct google_callback *callback)
{
	return message_read(opened->message, now_ms, arena, callback);
}
