#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Passes being issued: a row exists exactly while the pass has the status `creating`. It holds the images to fetch,
 * as requested at the creation, and the idempotency key whose stored response gets the outcome. Row, little-endian:
 * version u8 (1) | has_key u8 | size of icon u16 | size of logo u16, of banner u16 | begun i64 | SHA-256 of the key, 32 | the
 * URLs in the order logo, banner, icon. A URL longer than URL_BYTES_MAX is never fetched and is stored cut to one byte more. Units: service
 * time. Errors: as view.h. */
struct issuing {
	wall_us     begun;
	bool        has_key;
	uint8_t     key[32];
	struct span logo, banner; /* size 0: none */
	struct span icon;         /* likewise; only a template has one */
};

must_check enum err issuing_get(struct view *view, struct account_id account, uint32_t number,
                                struct issuing *row);
must_check enum err issuing_put(struct view *view, struct account_id account, uint32_t number,
                                const struct issuing *row);
must_check enum err issuing_del(struct view *view, struct account_id account, uint32_t number);

/* The account and pass number in a key of the table. Errors: false (malformed). */
bool issuing_key_read(struct span key, struct account_id *account, uint32_t *number);

/* A stored value. Errors: ERR_DAMAGED. */
must_check enum err issuing_read(struct span value, struct issuing *row);

/* TEMPLATE_IMAGES: images of a template to fetch, in the same form, without a key. A row exists from `template put`
 * until the images are stored. */
must_check enum err template_images_get(struct view *view, struct account_id account, uint32_t number,
                                        struct issuing *row);
must_check enum err template_images_put(struct view *view, struct account_id account, uint32_t number,
                                        const struct issuing *row);
must_check enum err template_images_del(struct view *view, struct account_id account, uint32_t number);
