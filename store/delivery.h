#pragma once
#include "schemas/clock.h"
#include "schemas/delivery.h"
#include "schemas/event.h"
#include "store/keys.h"
#include "store/view.h"

/* Deliveries: each sends one event to one webhook subscription. Errors: as view.h.
 * DELIVERY holds the pending ones: account | subscription 16 | zone u8 | due i64 | event 16. So each subscription has
 * its own queue in due order, and a long queue does not delay another. Zone 1: leased, an attempt may be under way and
 * is counted; zone 2: waiting. A change moves the row. Value, little-endian: version u8 (1) | kind u8 | attempts u8,
 * leased so far | error u8 | status u16 | detail u8 | 0 u8 | generation u32 | subject u32 | time of the fact i64, and
 * in zone 1: token u64 | instance u64.
 * DELIVERY_END holds the ended ones, in the order in which they ended: account | number u64, from 1. Value: the
 * first 24 bytes of the above | outcome u8 | 0 u8[7] | ended i64 | subscription 16 | event 16. */
enum delivery_zone { ZONE_LEASED = 1, ZONE_WAITING = 2 };

struct delivery {
	struct account_id  account;
	struct uuid        subscription, event;
	enum delivery_zone zone;
	wall_us            due;
	uint8_t            kind; /* enum event_kind */
	uint8_t            attempts;
	uint8_t            error; /* of the last attempt: enum attempt_error */
	uint16_t           status;
	uint8_t            detail;     /* of the last attempt: enum attempt_detail */
	uint32_t           generation; /* the subscription's, at the time of the fact */
	uint32_t           subject;    /* the number of the pass or scan, as event_subject() says */
	wall_us            fact;
	uint64_t           token,
	    instance; /* leased: identifies the attempt; identifies the timer process that has it */
};

must_check enum err delivery_put(struct view *view, const struct delivery *row);
must_check enum err delivery_del(struct view *view, const struct delivery *row);
/* The row whose account, subscription, event, zone and due are in *row; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err delivery_get(struct view *view, struct delivery *row);

/* The first row at or after *row, in any account and subscription; into *row. A range read. Errors: ERR_NOT_FOUND:
 * no more. */
must_check enum err delivery_from(struct view *view, struct delivery *row);
/* The row after the one found last. Likewise. */
must_check enum err delivery_next(struct view *view, struct delivery *row);

/* Moves *row behind all rows of its subscription, for delivery_from(). */
void delivery_skip(struct delivery *row);

/* Decode a stored row's key, and the row. Errors: ERR_DAMAGED. */
must_check enum err delivery_key_read(struct span key, struct delivery *row);
must_check enum err delivery_read(struct span key, struct span value, struct delivery *row);

struct delivery_end {
	struct delivery       was; /* all but zone, due, token and instance */
	uint64_t              number;
	enum delivery_outcome outcome;
	wall_us               ended;
};

must_check enum err delivery_end_put(struct view *view, const struct delivery_end *row);
must_check enum err delivery_end_del(struct view *view, struct account_id account, uint64_t number);
/* The account's first row after `number`; into *row. A range read. Errors: ERR_NOT_FOUND: no more. */
must_check enum err delivery_end_after(struct view *view, struct account_id account, uint64_t number,
                                       struct delivery_end *row);
/* The number of the last row; 0: there is none. A range read. */
must_check enum err delivery_end_last(struct view *view, struct account_id account, uint64_t *number);
must_check enum err delivery_end_read(struct span key, struct span value, struct delivery_end *row);
