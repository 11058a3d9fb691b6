#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Queue of background removals, done in steps. A row exists from the commit that leaves data over until the commit that
 * removes the last of it. CLEANUP row: account | kind u8 | subject. Value, little-endian: from i64, service time before
 * which nothing is done | state, defined by the kind. Rows are put and deleted, never patched. Errors: as view.h.
 * Subjects:
 *   PASS       number u32, big-endian: an erased pass, of which cards and free texts may still exist
 *   ERASED_ID  a keyed hash, 32: an id that was erased; recognised until the row is removed
 *   IMAGE_URL  SHA-256, 32, of a URL that its last user gave up; IMAGE: of an image's bytes, likewise
 *   REWARD     family u32, big-endian: a deleted reward that still has versions
 *   REWARD_VERSION  family u32, version u32, big-endian: a version replaced before it was assigned
 *   RULE       uuid: a deleted rule; rows of the passes it fired for may exist
 *   REGISTRATIONS  number u32, big-endian: a pass that has ended, which phones may still have; state: of an erased one the token
 *              of its former link, 16 */
enum cleanup_kind {
	CLEANUP_PASS = 1,
	CLEANUP_ERASED_ID = 2,
	CLEANUP_IMAGE_URL = 3,
	CLEANUP_IMAGE = 4,
	CLEANUP_REWARD = 5,
	CLEANUP_RULE = 6,
	CLEANUP_REWARD_VERSION = 7,
	CLEANUP_REGISTRATIONS = 8,
	CLEANUP_KINDS_END
};
enum { CLEANUP_SUBJECT_MAX = 32, CLEANUP_STATE_MAX = 40 };

struct cleanup {
	struct account_id account;
	uint8_t           kind;                                 /* enum cleanup_kind */
	uint8_t subject[CLEANUP_SUBJECT_MAX + 1], subject_size; /* one byte more: the position behind a row */
	wall_us from;
	uint8_t state[CLEANUP_STATE_MAX], state_size;
};

struct cleanup cleanup_of(struct account_id account, enum cleanup_kind kind, struct span subject);
struct cleanup cleanup_of_number(struct account_id account, enum cleanup_kind kind, uint32_t number);
/* The subject as a number; 0 if it has another size. */
uint32_t cleanup_number(const struct cleanup *row);

must_check enum err cleanup_put(struct view *view, const struct cleanup *row);
must_check enum err cleanup_del(struct view *view, const struct cleanup *row);
/* The row of that account, kind and subject; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err cleanup_get(struct view *view, struct cleanup *row);

/* The first row at or after *row, in any account; the one after the row found last. Range reads. Errors:
 * ERR_NOT_FOUND: no more. */
must_check enum err cleanup_from(struct view *view, struct cleanup *row);
must_check enum err cleanup_next(struct view *view, struct cleanup *row);

/* A stored row. Errors: ERR_DAMAGED. */
must_check enum err cleanup_read(struct span key, struct span value, struct cleanup *row);
