/* Counters for GET /metrics. A counter has one writer, so that counting is a load and a store without a lock
 * or a locked instruction; the sums are made only when somebody asks. */
#include "http/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const int64_t bounds_us[LATENCY_BUCKETS] = {100,    250,     500,     1000,    2000,  3000,
                                                   5000,   7500,    10000,   25000,   50000, 100000,
                                                   250000, 1000000, 5000000, 10000000};

static void add(_Atomic uint64_t *counter, uint64_t more)
{
	uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
	atomic_store_explicit(counter, now + more, memory_order_relaxed);
}

static uint64_t look(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void metrics_answered(struct metrics *metrics, const struct route *route, int status, dur_us elapsed)
{
	unsigned row = route ? route_index(route) : ROUTE_COUNT;
	if (status >= STATUS_FIRST && status <= STATUS_LAST)
		add(&metrics->requests[row][status - STATUS_FIRST], 1);
	if (!route) return; /* the admin's own questions and strangers would blur the times that matter */
	unsigned bucket = 0;
	while (bucket < LATENCY_BUCKETS && elapsed.v > bounds_us[bucket])
		bucket++;
	add(&metrics->latency[bucket], 1);
	add(&metrics->latency_us_sum, elapsed.v > 0 ? (uint64_t)elapsed.v : 0);
}

void metrics_closed(struct metrics *metrics, unsigned kind)
{
	must(kind < CLOSED_KINDS);
	add(&metrics->closed[kind], 1);
}

void metrics_line(struct buffer *out, const char *format, ...)
{
	char    text[256];
	va_list list;
	va_start(list, format);
	int size = vsnprintf(text, sizeof text, format, list);
	va_end(list);
	must(size > 0 && (size_t)size < sizeof text);
	buffer_append(out, text, (size_t)size);
}

static void render_requests(const struct metrics *const *threads, unsigned count, struct buffer *out)
{
	metrics_line(out, "# HELP stampede_http_requests_total Requests answered, by route and status.\n"
	                  "# TYPE stampede_http_requests_total counter\n");
	for (unsigned row = 0; row <= ROUTE_COUNT; row++) {
		const char *route = row < ROUTE_COUNT ? message_row(route_row(row)->message)->name : "none";
		for (unsigned status = 0; status <= STATUS_LAST - STATUS_FIRST; status++) {
			uint64_t sum = 0;
			for (unsigned i = 0; i < count; i++)
				sum += look(&threads[i]->requests[row][status]);
			if (!sum) continue;
			metrics_line(out,
			             "stampede_http_requests_total{route=\"%s\",status=\"%u\"} %" PRIu64 "\n",
			             route, status + STATUS_FIRST, sum);
		}
	}
}

static void render_latency(const struct metrics *const *threads, unsigned count, struct buffer *out)
{
	static const char name[] = "stampede_http_request_seconds";
	uint64_t          below = 0, us_sum = 0;
	metrics_line(
	    out,
	    "# HELP %s Operations, from their arrival in the loop to their answer.\n# TYPE %s histogram\n",
	    name, name);
	for (unsigned bucket = 0; bucket <= LATENCY_BUCKETS; bucket++) {
		for (unsigned i = 0; i < count; i++)
			below += look(&threads[i]->latency[bucket]);
		if (bucket < LATENCY_BUCKETS)
			metrics_line(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
			             (double)bounds_us[bucket] / 1e6, below);
	}
	for (unsigned i = 0; i < count; i++)
		us_sum += look(&threads[i]->latency_us_sum);
	metrics_line(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, below);
	metrics_line(out, "%s_sum %.6f\n%s_count %" PRIu64 "\n", name, (double)us_sum / 1e6, name, below);
}

void metrics_render(const struct metrics *const *threads, unsigned count, struct buffer *out)
{
	uint64_t connections = 0, sessions = 0, calls = 0;
	for (unsigned i = 0; i < count; i++) {
		connections += look(&threads[i]->connections);
		sessions += look(&threads[i]->sessions_up);
		calls += look(&threads[i]->outstanding_calls);
	}
	metrics_line(out, "# TYPE stampede_build_info gauge\nstampede_build_info{protocol=\"%d\"} 1\n",
	             PROTOCOL_VERSION);
	metrics_line(out, "# TYPE stampede_http_threads gauge\nstampede_http_threads %u\n", count);
	metrics_line(out, "# TYPE stampede_http_connections gauge\nstampede_http_connections %" PRIu64 "\n",
	             connections);
	metrics_line(
	    out, "# HELP stampede_http_sessions_up Sessions with shards that are up, over all threads.\n");
	metrics_line(out, "# TYPE stampede_http_sessions_up gauge\nstampede_http_sessions_up %" PRIu64 "\n",
	             sessions);
	metrics_line(out, "# TYPE stampede_http_calls gauge\nstampede_http_calls %" PRIu64 "\n", calls);
	render_requests(threads, count, out);
	render_latency(threads, count, out);
}
