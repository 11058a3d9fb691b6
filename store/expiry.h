#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Counts an account's open entitlements by time of expiry. So the number of expired ones is exact at any moment,
 * without a mark on any, at a cost independent of their number.
 * EXPIRY row: account | level u8 | span u64 -> count u64, little-endian. A row of level n counts the expiries whose
 * microsecond, shifted right by EXPIRY_SHIFT * n, is the span; a row at 0 is deleted. The number before a moment
 * sums fewer than 2^EXPIRY_SHIFT rows a level: all earlier spans of the highest level, and on each lower level those
 * within the current span. Errors: as view.h. */
enum { EXPIRY_SHIFT = 11, EXPIRY_LEVELS = 5, EXPIRY_KEY_REST = 9, EXPIRY_BYTES = 8 };

/* Stage one expiry more, or one less. `at` is not 0. Errors of expiry_take(): ERR_DAMAGED: it was not counted. */
must_check enum err expiry_add(struct view *view, struct account_id account, wall_us at);
must_check enum err expiry_take(struct view *view, struct account_id account, wall_us at);

/* How many expire at `now` or before. A range read. */
must_check enum err expiry_passed(struct view *view, struct account_id account, wall_us now, uint64_t *count);

/* The span of a level that contains a moment. Errors: none. */
static inline uint64_t expiry_span(wall_us at, unsigned level)
{
	return (uint64_t)at.v >> (EXPIRY_SHIFT * level);
}
