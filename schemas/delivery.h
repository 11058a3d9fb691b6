#pragma once
#include "schemas/attempt.h"
#include "schemas/clock.h"
#include "schemas/ids.h"

/* Delivery messages between a shard and the timer. A delivery sends one event to one webhook subscription. Several
 * messages are concatenated. Errors: none; the caller checks the sizes. */

/* A lease: names a delivery and permits one attempt at it. Big-endian as the keys of tables: account 10 |
 * subscription 16 | due i64 | event 16 | token u64. */
struct lease {
	struct account_id account;
	struct uuid       subscription;
	wall_us           due; /* service time; part of the delivery's key */
	struct uuid       event;
	uint64_t          token; /* identifies this attempt */
};
enum { LEASE_BYTES = 58 };
void lease_write(const struct lease *lease, uint8_t bytes[LEASE_BYTES]);
void lease_read(const uint8_t bytes[LEASE_BYTES], struct lease *lease);

/* The result of a leased attempt. A lease's bytes | what u8 | error u8 | status u16 | latency u32, milliseconds |
 * detail u8. */
enum attempt_what {
	ATTEMPT_MADE,     /* it counts: error and status have the result */
	ATTEMPT_NOT_MADE, /* nothing was sent: it does not count */
	ATTEMPT_VOID,     /* there is nothing left to send */
};
struct attempt_report {
	struct lease      lease;
	enum attempt_what what;
	uint8_t           error;      /* enum attempt_error */
	uint16_t          status;     /* of the response; 0 without one */
	uint32_t          latency_ms; /* from its start to the response's head */
	uint8_t           detail;     /* enum attempt_detail */
};
enum { ATTEMPT_REPORT_BYTES = LEASE_BYTES + 9 };
void attempt_report_write(const struct attempt_report *report, uint8_t bytes[ATTEMPT_REPORT_BYTES]);
bool attempt_report_read(const uint8_t          bytes[ATTEMPT_REPORT_BYTES],
                         struct attempt_report *report); /* false: malformed */

/* The wait before the attempt after `attempts`, in microseconds of service time; 0 if there is none left. Source:
 * the document's section 6.3. */
dur_us delivery_wait(unsigned attempts);

/* The outcome of a delivery. */
enum delivery_outcome {
	DELIVERY_PENDING,
	DELIVERY_DELIVERED,
	DELIVERY_FAILED,
	DELIVERY_DISCARDED,
	DELIVERY_OUTCOMES
};
extern const char *const delivery_outcomes[DELIVERY_OUTCOMES];
const char              *delivery_outcome_text(unsigned outcome);
