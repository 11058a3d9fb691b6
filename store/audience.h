#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Audiences: sets of passes that one notification can be sent to. Rows are put and deleted, never patched. Errors: as
 * view.h.
 * AUDIENCE row, by account and id, little-endian: version u8 (1) | created i64 | size of the name u16 | runs u32 |
 * name | pass numbers u32, ascending, each once | the runs. A run stands for members that joined together: index of
 * its first member u32, ascending from 0 | time of joining i64. A deleted pass stays a member, an erased pass
 * leaves. */
struct audience_member {
	uint32_t pass;
	wall_us  since; /* time of joining: earlier messages have not reached the pass */
};

struct audience {
	struct uuid                   id;
	wall_us                       created;
	struct span                   name;
	uint32_t                      count;
	const struct audience_member *members;      /* to write: ascending */
	struct span                   stored, runs; /* read: their bytes */
};

must_check enum err audience_row_get(struct view *view, struct account_id account, struct uuid id,
                                     struct audience *row);
/* OK or ERR_NOT_FOUND, for a row of any size. */
must_check enum err audience_row_exists(struct view *view, struct account_id account, struct uuid id);
must_check enum err audience_row_put(struct view *view, struct account_id account,
                                     const struct audience *row);
/* Stages `row`, which was read, without its member `pass`. */
must_check enum err audience_row_leave(struct view *view, struct account_id account,
                                       const struct audience *row, uint32_t pass);

must_check enum err audience_row_del(struct view *view, struct account_id account, struct uuid id);

/* The account's next audience after row->id (zeros: the first), in order of creation. Spans live in `room` or the
 * tables until the next call. A range read. Errors: ERR_NOT_FOUND: no more. */
must_check enum err audience_next(struct view *view, struct account_id account, struct buffer *room,
                                  struct audience *row);

/* These take a row that was read. `members` has room for row->count and gets all, in order; audience_pass() is the
 * pass at `index`; audience_from(): the index of the first member at or behind `pass`, or row->count; audience_has(): is
 * the pass a member, and since when? */
void     audience_members(const struct audience *row, struct audience_member *members);
uint32_t audience_pass(const struct audience *row, uint32_t index);
uint32_t audience_from(const struct audience *row, uint32_t pass);
bool     audience_has(const struct audience *row, uint32_t pass, wall_us *since);

/* A stored value without the id. Errors: ERR_DAMAGED. */
must_check enum err audience_read(struct span value, struct audience *row);
void                audience_write(const struct audience *row, struct buffer *value);
