/* schemas/wallet/google_callback.h: callbacks signed by keys that are made for the test; each fault alone is refused. */
#include "schemas/buffer.h"
#include "schemas/json.h"
#include "tests/unit/callback_read.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdio.h>

enum { NOW = 1800000000, TEXT = 2048 };
#define ISSUER   "3388000000012345678"
#define PROTOCOL "ECv2SigningOnly"

/* What a callback is made of; zeroed members are as Google makes them. */
struct made {
	const char *sender, *recipient, *protocol, *signed_protocol, *event, *object, *root_end,
	    *root_protocol;
	const char *middle_end, *message_end, *curve;
	bool        by_stranger; /* the intermediate key is signed by a key that is no root */
	bool        is_altered;  /* one byte of the message, after it was signed */
	bool        is_big_endian, message_by_root;
	unsigned    more_signatures; /* of strangers, in front of the good one */
};

static const char *or_usual(const char *text, const char *usual)
{
	return text ? text : usual;
}

static void key_text(EVP_PKEY *key, char *text)
{
	unsigned char *der = NULL;
	int            size = i2d_PUBKEY(key, &der);
	cr_assert(size > 0);
	EVP_EncodeBlock((unsigned char *)text, der, size);
	OPENSSL_free(der);
}

static void sign(const struct made *made, EVP_PKEY *key, const char *const *texts, unsigned count, char *out)
{
	struct buffer signed_text = {0};
	unsigned char bytes[256];
	size_t        size = sizeof bytes;
	for (unsigned i = 0; i < count; i++) {
		size_t length = strlen(texts[i]);
		for (int at = 0; at < 4; at++)
			buffer_byte(&signed_text,
			            (uint8_t)(length >> (8 * (made->is_big_endian ? 3 - at : at))));
		buffer_text(&signed_text, texts[i]);
	}
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	cr_assert(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1);
	cr_assert(EVP_DigestSign(context, bytes, &size, signed_text.at, signed_text.size) == 1);
	EVP_EncodeBlock((unsigned char *)out, bytes, (int)size);
	EVP_MD_CTX_free(context);
	buffer_free(&signed_text);
}

static void add(struct buffer *out, const char *before, const char *text)
{
	buffer_text(out, before);
	json_quote(span_str(text), out);
}

static void make(const struct made *made, struct buffer *roots, struct buffer *body)
{
	char root_text[512], middle_text[512], text[TEXT], signed_key[TEXT], message[TEXT], of_key[512],
	    of_message[512], strange[512];
	const char *sender = or_usual(made->sender, "GooglePayPasses");
	const char *protocol = or_usual(made->signed_protocol, PROTOCOL);
	EVP_PKEY   *root = EVP_EC_gen("P-256"), *other = EVP_EC_gen("P-256");
	EVP_PKEY   *middle = EVP_EC_gen(or_usual(made->curve, "P-256"));
	key_text(root, root_text);
	key_text(middle, middle_text);
	snprintf(text, sizeof text,
	         "{\"keys\":[{\"keyValue\":\"%s\",\"protocolVersion\":\"%s\",\"keyExpiration\":%s}]}",
	         root_text, or_usual(made->root_protocol, PROTOCOL),
	         or_usual(made->root_end, "\"1800000001\""));
	buffer_text(roots, text);
	snprintf(signed_key, sizeof signed_key, "{\"keyValue\":\"%s\",\"keyExpiration\":%s}", middle_text,
	         or_usual(made->middle_end, "\"1800000001\""));
	snprintf(message, sizeof message,
	         "{\"classId\":\"" ISSUER ".card\",\"objectId\":%s,\"eventType\":\"%s\",\"expTimeMillis\":%s,"
	         "\"nonce\":\"n-1\",\"note\":\"\xc3\xa9\"}",
	         or_usual(made->object, "\"" ISSUER ".ada\""), or_usual(made->event, "save"),
	         or_usual(made->message_end, "1800000001"));
	const char *one[] = {sender, protocol, signed_key};
	const char *two[] = {sender, or_usual(made->recipient, ISSUER), protocol, message};
	sign(made, other, one, 3, strange);
	sign(made, made->by_stranger ? other : root, one, 3, of_key);
	sign(made, made->message_by_root ? root : middle, two, 4, of_message);
	if (made->is_altered) memcpy(strstr(message, "n-1"), "n-2", 3);
	add(body, "{\"protocolVersion\":", or_usual(made->protocol, PROTOCOL));
	add(body, ",\"signature\":", of_message);
	add(body, ",\"signedMessage\":", message);
	add(body, ",\"intermediateSigningKey\":{\"signedKey\":", signed_key);
	buffer_text(body, ",\"signatures\":[");
	for (unsigned i = 0; i < made->more_signatures; i++) {
		add(body, "", strange);
		buffer_text(body, ",");
	}
	add(body, "", of_key);
	buffer_text(body, "]}}");
	EVP_PKEY_free(root);
	EVP_PKEY_free(other);
	EVP_PKEY_free(middle);
}

static enum err read_made(struct made made, struct arena *arena, struct buffer *body,
                          struct google_callback *callback)
{
	struct buffer roots = {0};
	make(&made, &roots, body);
	struct google_judge judge = {buffer_span(&roots), NOW};
	enum err            err = callback_read(buffer_span(body), &judge, ISSUER, arena, callback);
	buffer_free(&roots);
	return err;
}

static enum err judged(struct made made)
{
	struct arena           arena = {0};
	struct buffer          body = {0};
	struct google_callback callback;
	enum err               err = read_made(made, &arena, &body, &callback);
	buffer_free(&body);
	arena_free(&arena);
	return err;
}

Test(google_callback, tells_what_became_of_an_object)
{
	struct arena           arena = {0};
	struct buffer          body = {0};
	struct google_callback callback;
	cr_assert_eq(read_made((struct made){0}, &arena, &body, &callback), OK);
	cr_expect_eq(callback.event, GOOGLE_SAVED);
	cr_expect(span_is(callback.object_id, ISSUER ".ada"));
	cr_expect(span_is(callback.class_id, ISSUER ".card"));
	cr_expect(span_is(callback.nonce, "n-1"));
	cr_expect_eq(callback.ends_ms, NOW + 1);
	buffer_clear(&body);
	cr_assert_eq(read_made((struct made){.event = "del"}, &arena, &body, &callback), OK);
	cr_expect_eq(callback.event, GOOGLE_DELETED);
	buffer_free(&body);
	arena_free(&arena);
}

Test(google_callback, takes_what_google_may_send)
{
	cr_expect_eq(judged((struct made){.more_signatures = GOOGLE_SIGNATURES_MAX - 1}), OK);
	cr_expect_eq(judged((struct made){.message_end = "\"1800000001\""}), OK);
	cr_expect_eq(judged((struct made){.root_end = "1800000001", .middle_end = "1800000001"}), OK);
}

Test(google_callback, refuses_each_fault_alone)
{
	static const struct made faults[] = {
	    {.sender = "GooglePay"},
	    {.recipient = "3388000000012345679"},
	    {.protocol = "ECv2"},
	    {.signed_protocol = "ECv1"},
	    {.root_protocol = "ECv1"},
	    {.root_end = "\"1800000000\""},
	    {.root_end = "null"},
	    {.middle_end = "\"1800000000\""},
	    {.middle_end = "\"later\""},
	    {.message_end = "1800000000"},
	    {.message_end = "\"\""},
	    {.message_end = "1e99"},
	    {.event = "saved"},
	    {.object = "\"\""},
	    {.object = "7"},
	    {.curve = "P-384"},
	    {.by_stranger = true},
	    {.message_by_root = true},
	    {.is_altered = true},
	    {.is_big_endian = true},
	    {.more_signatures = GOOGLE_SIGNATURES_MAX},
	};
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		cr_expect_eq(judged(faults[i]), ERR_INVALID_REQUEST, "fault %zu", i);
}

Test(google_callback, refuses_what_has_not_its_form)
{
	static const char *const bodies[] = {
	    "",
	    "null",
	    "[]",
	    "{}",
	    "{\"protocolVersion\":\"ECv2SigningOnly\"}",
	    "{\"protocolVersion\":\"ECv2SigningOnly\",\"signedMessage\":\"{}\",\"signature\":\"\","
	    "\"intermediateSigningKey\":{\"signedKey\":\"\",\"signatures\":[\"=\",\"====\",7,\"AA=A\"]}}"};
	static const char *const roots[] = {
	    "", "7", "{\"keys\":{}}",
	    "{\"keys\":[7,{\"protocolVersion\":"
	    "\"ECv2SigningOnly\",\"keyExpiration\":\"1800000001\",\"keyValue\":\"AAAA\"}]}"};
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		for (size_t j = 0; j < sizeof roots / sizeof *roots; j++) {
			struct arena           arena = {0};
			struct google_callback callback;
			struct google_judge    judge = {span_str(roots[j]), NOW};
			cr_expect_eq(callback_read(span_str(bodies[i]), &judge, ISSUER, &arena, &callback),
			             ERR_INVALID_REQUEST, "%zu %zu", i, j);
			arena_free(&arena);
		}
}

Test(google_callback, knows_what_are_no_root_keys)
{
	static const struct {
		const char *text;
		bool        are_some;
	} all[] = {
	    {"", false},
	    {"<html>", false},
	    {"{\"error\":\"try later\"}", false},
	    {"{\"keys\":[]}", false},
	    {"{\"keys\":[{\"protocolVersion\":\"ECv1\",\"keyValue\":\"AAAA\"}]}", false},
	    {"{\"keys\":[{\"protocolVersion\":\"ECv2SigningOnly\"}]}", false},
	    {"{\"keys\":[7,{\"protocolVersion\":\"ECv2SigningOnly\",\"keyValue\":\"AAAA\"}]}", true},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct arena arena = {0};
		cr_expect_eq(google_keys_are_some(span_str(all[i].text), &arena), all[i].are_some, "%s",
		             all[i].text);
		arena_free(&arena);
	}
}
