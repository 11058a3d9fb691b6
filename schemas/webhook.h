#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"

/* Webhook signatures of the Standard Webhooks scheme, for public verifiers. The secret is 32 random bytes, shown
 * once as "whsec_" and their base64; the signature is "v1," and the base64 of HMAC-SHA256 over `{id}.{unix
 * seconds}.{body}`. Any thread. */
enum {
	WEBHOOK_KEY_BYTES = 32,
	WEBHOOK_SECRET_TEXT = 6 + 44 + 1,    /* with the NUL */
	WEBHOOK_SIGNATURE_TEXT = 3 + 44 + 1, /* likewise */
};

/* A key as the secret shown to its owner, and back. Only the output of webhook_secret_write() is accepted. Errors:
 * false if malformed. */
void webhook_secret_write(const uint8_t key[WEBHOOK_KEY_BYTES], char text[WEBHOOK_SECRET_TEXT]);
bool webhook_secret_read(struct span text, uint8_t key[WEBHOOK_KEY_BYTES]);

/* The signed content: the event's id, the same in every attempt (visible ASCII without a full stop), the time of
 * this attempt by the host's real clock, and the body byte for byte. */
struct webhook {
	struct span id;
	wall_us     sent_at; /* rounded down to the second that webhook_seconds() gives */
	struct span body;
};
int64_t webhook_seconds(wall_us sent_at);
/* Errors: none (without memory for a thread's first signature the process ends). */
void webhook_sign(const struct webhook *webhook, const uint8_t key[WEBHOOK_KEY_BYTES],
                  char signature[WEBHOOK_SIGNATURE_TEXT]);
