#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* How many of an account's open entitlements end when, so that the number of those whose time has passed is told exactly
 * for any moment, without a mark on any of them and at a cost that does not grow with their number.
 * EXPIRY row: account | level u8 | span u64 -> count u64, little-endian. A row of level n counts the ends whose
 * microsecond, shifted right by EXPIRY_SHIFT * n, is the span; one that would count none is deleted. What has ended before
 * a moment is then the sum of less than 2^EXPIRY_SHIFT rows a level: whole spans of the highest, and of each below it
 * those within the span at hand. Errors: as view.h. */
enum { EXPIRY_SHIFT = 11, EXPIRY_LEVELS = 5, EXPIRY_KEY_REST = 9, EXPIRY_BYTES = 8 };

/* Stages one end more, or one less. `at` is not 0. Errors of the latter: ERR_DAMAGED: it was not counted. */
must_check enum err expiry_add(struct view *view, struct account_id account, wall_us at);
must_check enum err expiry_take(struct view *view, struct account_id account, wall_us at);

/* How many end at `now` or before. A range read. */
must_check enum err expiry_passed(struct view *view, struct account_id account, wall_us now, uint64_t *count);

/* Which span of a level a moment is in. Errors: none. */
static inline uint64_t expiry_span(wall_us at, unsigned level)
{
	return (uint64_t)at.v >> (EXPIRY_SHIFT * level);
}
