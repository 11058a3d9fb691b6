#pragma once
#include "actors/rpc/rpc.h"
#include "http/route.h"
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/histogram.h"
#include "schemas/limits.h"

#include <stdatomic.h>

/* What one thread counts. Only its owner writes, with plain loads and stores (relaxed). A reader sees slightly old numbers of
 * all threads. Units: as named. Errors: none. */
enum { STATUS_FIRST = 200, STATUS_LAST = 511, CLOSED_KINDS = 8 };

struct metrics {
	_Atomic uint64_t   requests[ROUTE_COUNT + 1][STATUS_LAST - STATUS_FIRST + 1]; /* last row: no route */
	struct histogram   latency_us[ROUTE_COUNT];
	struct rpc_traffic traffic[SHARDS_MAX];
	_Atomic uint64_t   calls[SHARDS_MAX]; /* waiting for an answer now */
	_Atomic uint64_t   connections, idle, sessions_up;
	_Atomic uint64_t   refused;                  /* connections above their address's limit */
	_Atomic uint64_t   body_bytes, answer_bytes; /* held now */
	/* Connections closed by a timeout, and evicted ones, by their state. */
	_Atomic uint64_t closed[CLOSED_KINDS], evicted[CLOSED_KINDS];
};

/* Counts one answered request; `route` may be NULL. */
void metrics_answered(struct metrics *metrics, const struct route *route, int status, dur_us elapsed);

/* Counts a connection closed by a timeout in state `kind` (enum connection_state). */
void metrics_closed(struct metrics *metrics, unsigned kind);

/* Counts an evicted connection, likewise; a refused one. */
void metrics_evicted(struct metrics *metrics, unsigned kind);
void metrics_refused(struct metrics *metrics);

/* What is rendered: the numbers of all threads, and of the process. */
struct metrics_view {
	const struct metrics *threads[HTTP_THREADS_MAX];
	unsigned              count;
	uint32_t              shards;
	uint64_t              connections_max;
	uint64_t              access_dropped;     /* lines of the access log */
	int64_t               certificate_ends_s; /* seconds of the wall clock; 0: no certificate */
	bool                  has_wallets;
	uint64_t              kits_bytes; /* of packages for wallets */
};

/* Appends the sums over all threads in the Prometheus text format. */
void metrics_render(const struct metrics_view *view, struct buffer *out);

/* Appends what printf would print. */
__attribute__((format(printf, 2, 3))) void metrics_line(struct buffer *out, const char *format, ...);

/* Appends the lines above a metric, and those of a histogram with `labels` ("shard=\"0\""). `name` is the metric's, without
 * "stampede_". */
void metrics_head(struct buffer *out, const char *name, const char *type, const char *help);
void metrics_histogram(struct buffer *out, const char *name, const char *labels, const struct scale *scale,
                       const struct histogram_copy *histogram);
