#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* What is to be removed in the background, in steps: a row stands here, from the commit that leaves something over until the
 * commit of its last removal. CLEANUP row: account | kind u8 | subject. Value, little-endian: from i64, service time before
 * which nothing is done | state, which its kind alone knows. Rows are put and deleted, never patched. Errors: as view.h.
 * The subject:
 *   PASS       number u32, big-endian: an erased pass, of which cards and free texts may still be there
 *   ERASED_ID  a keyed hash, 32: an id that was erased; known until the row goes
 *   IMAGE_URL  SHA-256 of a URL, 32, that was given up by its last user; IMAGE: of an image's bytes, likewise
 *   REWARD     family u32, big-endian: a deleted reward, of which versions are there
 *   REWARD_VERSION family u32, version u32, big-endian: one that was replaced before it was assigned to anybody
 *   RULE       uuid: a deleted rule, of which it may be kept for whom it fired */
enum cleanup_kind {
	CLEANUP_PASS = 1,
	CLEANUP_ERASED_ID = 2,
	CLEANUP_IMAGE_URL = 3,
	CLEANUP_IMAGE = 4,
	CLEANUP_REWARD = 5,
	CLEANUP_RULE = 6,
	CLEANUP_REWARD_VERSION = 7,
	CLEANUP_KINDS_END
};
enum { CLEANUP_SUBJECT_MAX = 32, CLEANUP_STATE_MAX = 40 };

struct cleanup {
	struct account_id account;
	uint8_t           kind;                                 /* enum cleanup_kind */
	uint8_t subject[CLEANUP_SUBJECT_MAX + 1], subject_size; /* one more: the place behind a row */
	wall_us from;
	uint8_t state[CLEANUP_STATE_MAX], state_size;
};

struct cleanup cleanup_of(struct account_id account, enum cleanup_kind kind, struct span subject);
struct cleanup cleanup_of_number(struct account_id account, enum cleanup_kind kind, uint32_t number);
/* The number that such a subject is; 0 if it is of another size. */
uint32_t cleanup_number(const struct cleanup *row);

must_check enum err cleanup_put(struct view *view, const struct cleanup *row);
must_check enum err cleanup_del(struct view *view, const struct cleanup *row);
/* The row of that account, kind and subject; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err cleanup_get(struct view *view, struct cleanup *row);

/* The first at or after the place of *row, whatever account it is of; the one after the one found last. Range reads.
 * Errors: ERR_NOT_FOUND: no more. */
must_check enum err cleanup_from(struct view *view, struct cleanup *row);
must_check enum err cleanup_next(struct view *view, struct cleanup *row);

/* A stored row. Errors: ERR_DAMAGED. */
must_check enum err cleanup_read(struct span key, struct span value, struct cleanup *row);
