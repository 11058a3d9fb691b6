#pragma once
#include "http/route.h"
#include "schemas/buffer.h"
#include "schemas/clock.h"

#include <stdatomic.h>

/* What one thread counts. Only its owner writes, with plain loads and stores (relaxed); whoever renders reads
 * the numbers of all threads, each a little old. Units: as named. Errors: none. */
enum { STATUS_FIRST = 200, STATUS_LAST = 511, LATENCY_BUCKETS = 16, CLOSED_KINDS = 8 };

struct metrics {
	_Atomic uint64_t requests[ROUTE_COUNT + 1][STATUS_LAST - STATUS_FIRST + 1]; /* last row: no route */
	_Atomic uint64_t latency[LATENCY_BUCKETS + 1]; /* by upper bound; the last is everything above */
	_Atomic uint64_t latency_us_sum;
	_Atomic uint64_t connections, sessions_up, outstanding_calls; /* as of now */
	_Atomic uint64_t body_bytes, answer_bytes;                    /* held as of now */
	_Atomic uint64_t closed[CLOSED_KINDS]; /* connections closed for being late, by what they did */
};

/* Counts one answered request; `route` may be NULL. */
void metrics_answered(struct metrics *metrics, const struct route *route, int status, dur_us elapsed);

/* Counts a connection that was closed because it took too long over `kind` (enum gate_state). */
void metrics_closed(struct metrics *metrics, unsigned kind);

/* Appends all threads' numbers, summed, in the Prometheus text format. */
void metrics_render(const struct metrics *const *threads, unsigned count, struct buffer *out);

/* Appends text of at most 255 bytes. */
__attribute__((format(printf, 2, 3))) void metrics_line(struct buffer *out, const char *format, ...);
