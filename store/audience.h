#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Audiences: passes that a notification can be sent to together. Row of AUDIENCE, by account and id, little-endian: version
 * u8 (1) | created i64 | size of the name u16 | runs u32 | name | numbers of its passes u32, rising, each once | the runs: of
 * members that joined together, the index of the first u32, rising from 0 | when i64. A pass that was deleted stays in it,
 * one that was erased leaves it. Put and deleted, never patched. Errors: as view.h. */
struct audience_member {
	uint32_t pass;
	wall_us  since; /* when it joined: a message that was sent before has not reached it */
};

struct audience {
	struct uuid                   id;
	wall_us                       created;
	struct span                   name;
	uint32_t                      count;
	const struct audience_member *members;      /* to write: rising */
	struct span                   stored, runs; /* read: their bytes */
};

must_check enum err audience_row_get(struct view *view, struct account_id account, struct uuid id,
                                     struct audience *row);
/* OK or ERR_NOT_FOUND, whatever its size. */
must_check enum err audience_row_exists(struct view *view, struct account_id account, struct uuid id);
must_check enum err audience_row_put(struct view *view, struct account_id account,
                                     const struct audience *row);
/* Stages a row that was read without a member that it has. */
must_check enum err audience_row_leave(struct view *view, struct account_id account,
                                       const struct audience *row, uint32_t pass);

must_check enum err audience_row_del(struct view *view, struct account_id account, struct uuid id);

/* The account's next audience after the one of row->id (zeros: the first), in the order of their making; spans live in `room`
 * or the tables until the next call. A range read. Errors: ERR_NOT_FOUND: no more. */
must_check enum err audience_next(struct view *view, struct account_id account, struct buffer *room,
                                  struct audience *row);

/* Of a row that was read: all members, in order, into `members`, which has room for row->count; the pass at `index`; is the
 * pass a member, and since when? */
void     audience_members(const struct audience *row, struct audience_member *members);
uint32_t audience_pass(const struct audience *row, uint32_t index);
bool     audience_has(const struct audience *row, uint32_t pass, wall_us *since);

/* A stored value; all but the id. Errors: ERR_DAMAGED. */
must_check enum err audience_read(struct span value, struct audience *row);
void                audience_write(const struct audience *row, struct buffer *value);
