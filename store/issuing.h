#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Passes that are being issued: there is a row exactly as long as the pass has the status `creating`. It says what is to
 * be fetched, as it was asked for then, and which idempotency key is to be told how it ended. Row, little-endian:
 * version u8 (1) | has_key u8 | 0 u16 | size of logo u16, of banner u16 | begun i64 | SHA-256 of the key, 32 | the two URLs.
 * A URL longer than URL_BYTES_MAX, which nobody will fetch, is cut behind its next byte. Units: service time.
 * Errors: as view.h. */
struct issuing {
	wall_us     begun;
	bool        has_key;
	uint8_t     key[32];
	struct span logo, banner; /* size 0: none */
};

must_check enum err issuing_get(struct view *view, struct account_id account, uint32_t number,
                                struct issuing *row);
must_check enum err issuing_put(struct view *view, struct account_id account, uint32_t number,
                                const struct issuing *row);
must_check enum err issuing_del(struct view *view, struct account_id account, uint32_t number);

/* Of what was read or written as a row of the table: whose pass it is. Errors: false (no such key). */
bool issuing_key_read(struct span key, struct account_id *account, uint32_t *number);

/* A stored value. Errors: ERR_DAMAGED. */
must_check enum err issuing_read(struct span value, struct issuing *row);

/* TEMPLATE_IMAGES: the images of a template that are to be fetched, in the same form, without a key. There is a row from
 * `template put` until they are there. */
must_check enum err template_images_get(struct view *view, struct account_id account, uint32_t number,
                                        struct issuing *row);
must_check enum err template_images_put(struct view *view, struct account_id account, uint32_t number,
                                        const struct issuing *row);
must_check enum err template_images_del(struct view *view, struct account_id account, uint32_t number);
