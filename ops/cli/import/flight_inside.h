#pragma once
#include "ops/cli/import/flight.h"

/* What flight.c and settle.c share. */
struct flight {
	struct service   *service;
	struct account_id account;
	uint32_t          shard;
	int64_t           wait_ms;

	struct row rows[FLIGHT_ROWS_MAX]; /* a ring */
	uint64_t   first, end;            /* counts of rows: rows[n % FLIGHT_ROWS_MAX] */
	uint64_t   next;                  /* the next to be sent */
	uint64_t   tried;                 /* those before it were sent at least once, or ended without */
	uint32_t   sent, unknown;         /* rows in these states */
	size_t     sent_bytes, held_bytes;

	bool     holding; /* nothing is sent until all that was sent has ended, and `again` */
	mono_us  again;
	dur_us   pause;      /* the last one; doubles */
	mono_us  moved;      /* when a row ended last, or the first of many was sent */
	mono_us  lost;       /* when a row's fate became unknown last */
	uint64_t sent_epoch; /* of the session that rows were sent over last */
	bool     stopping;
	enum err trouble;

	struct buffer newest; /* the pass that was created last, as far as answers say: JSON; empty: none */
};

static inline struct row *flight_row(struct flight *flight, uint64_t count)
{
	return &flight->rows[count % FLIGHT_ROWS_MAX];
}

/* The row's fate is settled. */
void flight_end_row(struct flight *flight, struct row *row, enum err err);
