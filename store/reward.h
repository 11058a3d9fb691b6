#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "schemas/reward.h"
#include "store/cleanup.h"
#include "store/view.h"

/* The rewards catalogue of an account. A reward is a family of versions. Families are numbered from 1 in their account,
 * versions from 1 in their family; numbers are never reused. Errors: as view.h. Little-endian:
 * REWARD row, of an existing reward: status u8 | 0, 3 | version u32 | created i64 | updated i64 | assigned u64 |
 * assigned of the newest version u64 | the family's id, 16 | slug.
 * REWARD_SLUG row: family u32.
 * REWARD_VERSION row: layout u8 (1) | status u8 | kind u8 | repeat_assignment u8 | kind of expiration u8 | size of slug
 * u8 | size of name u16 | redemption_allowance u32 | assignment_limit u64 (0: none) | window_seconds u64, or fixed_end
 * i64, or 0 | created i64 | made i64 | its own id, 16 | the family's id, 16 | slug | name | description.
 * REWARD_TALLY row: families u32 | rewards u32 | entitlements u64 | redeemed u64 | replaced u64 | open u64.
 * Rows are put and deleted, never patched. The newest version is kept, and each that was assigned, since
 * entitlements keep their terms. Other versions, replaced or deleted before any assignment, are removed once no
 * response with them can be repeated. So version numbers have gaps. */
enum {
	REWARD_NAME_BYTES_MAX = 4 * REWARD_NAME_POINTS_MAX,
	REWARD_DESCRIPTION_BYTES_MAX = 4 * REWARD_DESCRIPTION_POINTS_MAX,
};

/* A reward in its present state; its terms are those of its newest version. */
struct reward {
	uint32_t           family;
	enum reward_status status;
	uint32_t           version; /* the newest */
	wall_us            created, updated;
	uint64_t           assigned;        /* entitlements ever assigned from any of its versions */
	uint64_t           assigned_newest; /* from the newest one */
	struct uuid        family_id;
	struct span        slug;
};

/* One version, as it was published. */
struct reward_version {
	uint32_t             family, version;
	struct uuid          id, family_id; /* the interface's definition_id and family_id */
	enum reward_status   status;        /* when it was published */
	enum reward_kind     kind;
	bool                 repeat_assignment;
	uint32_t             redemption_allowance; /* from 1 */
	uint64_t             assignment_limit;     /* 0: none */
	enum expiration_kind expiration;
	uint64_t             window_seconds; /* RELATIVE_WINDOW alone, else 0 */
	wall_us              fixed_end;      /* FIXED_END alone, else 0 */
	wall_us              created, made;  /* created: the family; made: this version */
	struct span          slug, name, description;
};

/* Counts of an account: one row; an absent one reads as zeros. */
struct reward_tally {
	uint32_t families; /* ever created: the last one's number */
	uint32_t rewards;  /* existing ones, archived ones included */
	/* Entitlements ever assigned; those redeemed, those replaced, and all others. */
	uint64_t entitlements, redeemed, replaced, open;
};

/* Spans point into the row. Errors: ERR_NOT_FOUND. */
must_check enum err reward_get(struct view *view, struct account_id account, uint32_t family,
                               struct reward *row);
must_check enum err reward_by_slug(struct view *view, struct account_id account, struct span slug,
                                   struct reward *row);
must_check enum err reward_version_get(struct view *view, struct account_id account, uint32_t family,
                                       uint32_t version, struct reward_version *row);
must_check enum err reward_tally_get(struct view *view, struct account_id account,
                                     struct reward_tally *tally);

/* Stage a row. reward_put() leaves the slug alone; a new reward needs reward_slug_put() too. */
must_check enum err reward_put(struct view *view, struct account_id account, const struct reward *row);
must_check enum err reward_slug_put(struct view *view, struct account_id account, const struct reward *row);
must_check enum err reward_del(struct view *view, struct account_id account, const struct reward *row);
/* The CLEANUP rows of a reward being deleted, and of its newest version being replaced; and one step of each
 * removal, as in image.h. State of the first, little-endian: versions before this one are removed u32 | the last
 * version u32. Point reads. */
struct cleanup      reward_left_over(struct account_id account, const struct reward *row);
struct cleanup      reward_version_left_over(struct account_id account, uint32_t family, uint32_t version);
must_check enum err reward_versions_clean(struct view *view, struct cleanup *row, bool *done);
must_check enum err reward_version_clean(struct view *view, const struct cleanup *row);
must_check enum err reward_version_put(struct view *view, struct account_id account,
                                       const struct reward_version *row);
must_check enum err reward_tally_put(struct view *view, struct account_id account,
                                     const struct reward_tally *tally);

/* The account's next reward after `row->family` (0: the first), in order of creation. A range read. Errors:
 * ERR_NOT_FOUND: no more. */
must_check enum err reward_next(struct view *view, struct account_id account, struct reward *row);

/* The newest version of `row`, its texts in `room` until the next call. A range read. Errors: ERR_DAMAGED: none. */
must_check enum err reward_version_in(struct view *view, struct account_id account, const struct reward *row,
                                      struct buffer *room, struct reward_version *terms);

/* Stored values and back, without the fields of their keys. Errors: ERR_DAMAGED. */
enum {
	REWARD_BYTES_MAX = 56 + REWARD_SLUG_BYTES_MAX,
	REWARD_VERSION_BYTES_MAX = 76 + REWARD_SLUG_BYTES_MAX + REWARD_NAME_BYTES_MAX +
	                           REWARD_DESCRIPTION_BYTES_MAX,
	REWARD_TALLY_BYTES = 40,
};
must_check enum err reward_read(struct span value, struct reward *row);
must_check enum err reward_version_read(struct span value, struct reward_version *row);
must_check enum err reward_tally_read(struct span value, struct reward_tally *tally);
size_t              reward_write(const struct reward *row, uint8_t value[REWARD_BYTES_MAX]);
size_t reward_version_write(const struct reward_version *row, uint8_t value[REWARD_VERSION_BYTES_MAX]);
