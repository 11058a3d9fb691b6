/* Signatures and secrets of webhooks, compared with values computed by other programs. */
#include "schemas/webhook.h"

#include <criterion/criterion.h>

/* Computed by `openssl dgst -sha256 -mac HMAC -macopt hexkey:…`. */
Test(webhook, signature_equals_that_of_openssl)
{
	static const struct {
		uint8_t     first; /* of the key; each byte is one more than the previous one */
		const char *id, *body;
		int64_t     sent_us;
		const char *want;
	} rows[] = {
	    {0, "msg_p5jXN8AQM9LWM0D4loKWxJek", "{\"test\": 2432232314}", 1614265330000000,
	     "v1,O4Gjv1HqPqsMrjmczoggs/sWA8gZD0VyHG+fLh4+ktI="},
	    {7, "evt_01983d1c-7b2f-7000-8000-000000000000", "", 1795206180999999,
	     "v1,EDo9mpKxF+5vhu1g/OlAK+ldplPh+lTGJqqXdw4PMuE="},
	    {224, "evt_1", "{\"a\":\"\xc3\xbc\"}", 0, "v1,H3JdSv35+dX2YN61Krz0x7d7ChIjaDP+jvTViq4vqh4="},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct webhook webhook = {span_str(rows[i].id), {rows[i].sent_us}, span_str(rows[i].body)};
		uint8_t        key[WEBHOOK_KEY_BYTES];
		char           got[WEBHOOK_SIGNATURE_TEXT];
		for (size_t at = 0; at < sizeof key; at++)
			key[at] = (uint8_t)(rows[i].first + at);
		webhook_sign(&webhook, key, got);
		cr_expect_str_eq(got, rows[i].want, "row %zu", i);
	}
}

static bool read_secret(const char *text)
{
	uint8_t key[WEBHOOK_KEY_BYTES];
	return webhook_secret_read(span_str(text), key);
}

Test(webhook, secret_is_shown_and_read)
{
	uint8_t key[WEBHOOK_KEY_BYTES], again[WEBHOOK_KEY_BYTES];
	char    text[WEBHOOK_SECRET_TEXT];

	for (size_t at = 0; at < sizeof key; at++)
		key[at] = (uint8_t)at;
	webhook_secret_write(key, text);
	cr_expect_str_eq(text, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
	cr_assert(webhook_secret_read(span_str(text), again));
	cr_expect_arr_eq(again, key, sizeof key);
}

Test(webhook, invalid_secret_is_refused)
{
	static const char *const texts[] = {
	    "",
	    "whsec_",
	    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
	    "whsec-AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
	    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=", /* bits beyond the last byte */
	    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8A", /* 33 bytes */
	    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==", /* 31 bytes */
	    "whsec_ AECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
	    "whsec_-_ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
	    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect_not(read_secret(texts[i]), "%s", texts[i]);
}
