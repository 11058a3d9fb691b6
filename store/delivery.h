#pragma once
#include "schemas/clock.h"
#include "schemas/delivery.h"
#include "schemas/event.h"
#include "store/keys.h"
#include "store/view.h"

/* Deliveries: each is the sending of one event to one webhook subscription. Errors: as view.h.
 *
 * DELIVERY holds those that have not ended: account | subscription 16 | zone u8 | due i64 | event 16, so that a
 * subscription's are a queue in the order in which they come due, and one subscription's queue, however long, is in
 * nobody's way. Zone 1: leased, an attempt may be under way and is counted; zone 2: waiting. A change moves the row.
 * Value, little-endian: version u8 (1) | kind u8 | attempts u8, handed out so far | error u8 | status u16 | detail u8 |
 * 0 u8 | generation u32 | subject u32 | of the fact i64, and of leased ones: token u64 | instance u64.
 *
 * DELIVERY_END holds those that have ended, in the order of their ends: account | number u64, from 1. Value: the first 24
 * bytes of the above | outcome u8 | 0 u8[7] | ended i64 | subscription 16 | event 16. */
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
	uint64_t           token, instance; /* of leased ones: of the attempt; of the timer that has it */
};

must_check enum err delivery_put(struct view *view, const struct delivery *row);
must_check enum err delivery_del(struct view *view, const struct delivery *row);
/* The row whose account, subscription, event, zone and due are in *row; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err delivery_get(struct view *view, struct delivery *row);

/* The first row at or after the place of *row, whatever account and subscription it is of; into *row. A range read.
 * Errors: ERR_NOT_FOUND: no more. */
must_check enum err delivery_from(struct view *view, struct delivery *row);
/* The one after the row found last. Likewise. */
must_check enum err delivery_next(struct view *view, struct delivery *row);

/* The place behind all rows of a subscription: for delivery_from(). */
void delivery_skip(struct delivery *row);

/* A stored row and its key; and the key alone. Errors: ERR_DAMAGED. */
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
/* The number of the last; 0: there is none. A range read. */
must_check enum err delivery_end_last(struct view *view, struct account_id account, uint64_t *number);
must_check enum err delivery_end_read(struct span key, struct span value, struct delivery_end *row);
