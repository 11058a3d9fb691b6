/* Counters for GET /metrics. A counter has one writer, so counting is a load and a store without a lock or a locked
 * instruction. Sums are made on request only. Names follow the conventions of Prometheus: base units, `_total` for what only
 * grows, all lines of a metric together under their HELP and TYPE. */
#include "http/metrics.h"
#include "actors/rt/log.h"
#include "schemas/frame.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

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
	/* Admin requests and unknown routes would distort the latencies. */
	if (route) histogram_add(&metrics->latency_us[row], &scale_us, elapsed.v);
}

void metrics_closed(struct metrics *metrics, unsigned kind)
{
	must(kind < CLOSED_KINDS);
	add(&metrics->closed[kind], 1);
}

void metrics_evicted(struct metrics *metrics, unsigned kind)
{
	must(kind < CLOSED_KINDS);
	add(&metrics->evicted[kind], 1);
}

void metrics_refused(struct metrics *metrics)
{
	add(&metrics->refused, 1);
}

/* --- lines --- */

void metrics_line(struct buffer *out, const char *format, ...)
{
	va_list list, again;
	va_start(list, format);
	va_copy(again, list);
	int size = vsnprintf(NULL, 0, format, list);
	must(size > 0);
	uint8_t *to = buffer_reserve(out, (size_t)size + 1); /* with the null, which is not counted */
	if (to) {
		vsnprintf((char *)to, (size_t)size + 1, format, again);
		out->size += (size_t)size;
	}
	va_end(again);
	va_end(list);
}

void metrics_head(struct buffer *out, const char *name, const char *type, const char *help)
{
	metrics_line(out, "# HELP stampede_%s %s\n", name, help);
	metrics_line(out, "# TYPE stampede_%s %s\n", name, type);
}

void metrics_histogram(struct buffer *out, const char *name, const char *labels, const struct scale *scale,
                       const struct histogram_copy *histogram)
{
	uint64_t below = 0;
	for (unsigned i = 0; i < SCALE_BOUNDS; i++) {
		below += histogram->counts[i];
		metrics_line(out, "stampede_%s_bucket{%s,le=\"%g\"} %" PRIu64 "\n", name, labels,
		             (double)scale->bounds[i] / scale->unit, below);
	}
	below += histogram->counts[SCALE_BOUNDS];
	metrics_line(out, "stampede_%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, below);
	metrics_line(out, "stampede_%s_sum{%s} %.6f\n", name, labels, (double)histogram->sum / scale->unit);
	metrics_line(out, "stampede_%s_count{%s} %" PRIu64 "\n", name, labels, below);
}

/* --- this process --- */

static uint64_t sum_of(const struct metrics_view *view, size_t member)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < view->count; i++)
		sum += look((const _Atomic uint64_t *)((const char *)view->threads[i] + member));
	return sum;
}

static void gauge(struct buffer *out, const char *name, const char *help, uint64_t value)
{
	metrics_head(out, name, "gauge", help);
	metrics_line(out, "stampede_%s %" PRIu64 "\n", name, value);
}

static void render_gauges(const struct metrics_view *view, struct buffer *out)
{
	metrics_head(
	    out, "build_info", "gauge",
	    "Always 1; the label is a digest of the protocol between the processes and with commands.");
	metrics_line(out, "stampede_build_info{protocol=\"%08" PRIx32 "\"} 1\n", frame_protocol());
	if (view->certificate_ends_s)
		gauge(out, "certificate_not_after_seconds",
		      "Expiry of the certificate for new connections, in Unix time; absent without TLS.",
		      (uint64_t)view->certificate_ends_s);
	gauge(out, "http_threads", "Threads of the http process.", view->count);
	gauge(out, "http_connections", "Open client connections, without those of the admin listener.",
	      sum_of(view, offsetof(struct metrics, connections)));
	gauge(out, "http_connections_idle", "Open client connections that wait for their next request.",
	      sum_of(view, offsetof(struct metrics, idle)));
	gauge(out, "http_connections_limit",
	      "Limit of open client connections; beyond it one is closed for each new one.",
	      view->connections_max);
	gauge(out, "http_sessions_up", "Sessions with shards that are up: one per thread and shard.",
	      sum_of(view, offsetof(struct metrics, sessions_up)));
	gauge(out, "http_body_bytes", "Memory of request bodies and pipelined requests; limited.",
	      sum_of(view, offsetof(struct metrics, body_bytes)));
	gauge(out, "http_answer_bytes",
	      "Memory of responses that are incomplete or not read by the client yet; limited.",
	      sum_of(view, offsetof(struct metrics, answer_bytes)));
}

static void render_process(struct buffer *out)
{
	struct rusage usage;
	long          pages = 0;
	FILE         *statm = fopen("/proc/self/statm", "re");
	if (statm && fscanf(statm, "%*d %ld", &pages) != 1) pages = 0;
	if (statm) fclose(statm);
	gauge(out, "http_resident_bytes", "Resident memory of the http process.",
	      (uint64_t)(pages * sysconf(_SC_PAGESIZE)));
	getrusage(RUSAGE_SELF, &usage);
	double seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	metrics_head(out, "http_cpu_seconds_total", "counter", "Processor time of the http process.");
	metrics_line(out, "stampede_http_cpu_seconds_total %.6f\n", seconds);
}

/* Over all processes of the service, which count in one place. */
static void render_log(const struct metrics_view *view, struct buffer *out)
{
	static const enum role roles[] = {ROLE_SUPERVISOR, ROLE_HTTP, ROLE_SHARD, ROLE_TIMER};
	metrics_head(out, "log_lines_dropped_total", "counter",
	             "Log lines dropped because they could not be written at once, by process role.");
	for (unsigned i = 0; i < sizeof roles / sizeof *roles; i++)
		metrics_line(out, "stampede_log_lines_dropped_total{role=\"%s\"} %" PRIu64 "\n",
		             role_text(roles[i]), log_dropped(roles[i]));
	metrics_head(out, "access_log_lines_dropped_total", "counter",
	             "Access log lines dropped because they could not be written in time.");
	metrics_line(out, "stampede_access_log_lines_dropped_total %" PRIu64 "\n", view->access_dropped);
}

/* Counters of ended connections by their state; `member` is the offset in struct metrics. */
static void render_ended(const struct metrics_view *view, const char *name, const char *help, size_t member,
                         struct buffer *out)
{
	static const char *const kinds[CLOSED_KINDS] = {"handshake", "idle",   "head",  "body",
	                                                "waiting",   "answer", "close", "linger"};
	metrics_head(out, name, "counter", help);
	for (unsigned i = 0; i < CLOSED_KINDS; i++)
		metrics_line(out, "stampede_%s{during=\"%s\"} %" PRIu64 "\n", name, kinds[i],
		             sum_of(view, member + i * sizeof(_Atomic uint64_t)));
}

static void render_connections(const struct metrics_view *view, struct buffer *out)
{
	render_ended(view, "http_connections_closed_total",
	             "Connections closed by a timeout, by their state.", offsetof(struct metrics, closed),
	             out);
	render_ended(view, "http_connections_evicted_total",
	             "Connections closed to make room for new ones, by their state.",
	             offsetof(struct metrics, evicted), out);
	metrics_head(out, "http_connections_refused_total", "counter",
	             "Connections reset by --connections-per-address.");
	metrics_line(out, "stampede_http_connections_refused_total %" PRIu64 "\n",
	             sum_of(view, offsetof(struct metrics, refused)));
}

static void render_requests(const struct metrics_view *view, struct buffer *out)
{
	metrics_head(out, "http_requests_total", "counter", "Responses, by route and HTTP status.");
	for (unsigned row = 0; row <= ROUTE_COUNT; row++) {
		const char *route = row < ROUTE_COUNT ? message_row(route_row(row)->message)->name : "none";
		for (unsigned status = 0; status <= STATUS_LAST - STATUS_FIRST; status++) {
			uint64_t sum = 0;
			for (unsigned i = 0; i < view->count; i++)
				sum += look(&view->threads[i]->requests[row][status]);
			if (!sum) continue;
			metrics_line(out,
			             "stampede_http_requests_total{route=\"%s\",status=\"%u\"} %" PRIu64 "\n",
			             route, status + STATUS_FIRST, sum);
		}
	}
}

static void render_latency(const struct metrics_view *view, struct buffer *out)
{
	static const char name[] = "http_request_duration_seconds";
	metrics_head(out, name, "histogram", "Time from a complete request to its response, by route.");
	for (unsigned row = 0; row < ROUTE_COUNT; row++) {
		struct histogram_copy sum = {.sum = 0};
		char                  labels[64];
		for (unsigned i = 0; i < view->count; i++)
			histogram_sum(&view->threads[i]->latency_us[row], &sum);
		snprintf(labels, sizeof labels, "route=\"%s\"", message_row(route_row(row)->message)->name);
		metrics_histogram(out, name, labels, &scale_us, &sum);
	}
}

/* One of the two histograms of each session; `member` is the offset in struct rpc_traffic. */
static void render_traffic(const struct metrics_view *view, const char *name, size_t member,
                           struct buffer *out)
{
	for (uint32_t shard = 0; shard < view->shards; shard++) {
		struct histogram_copy sum = {.sum = 0};
		char                  labels[32];
		for (unsigned i = 0; i < view->count; i++) {
			const char *traffic = (const char *)&view->threads[i]->traffic[shard];
			histogram_sum((const struct histogram *)(traffic + member), &sum);
		}
		snprintf(labels, sizeof labels, "shard=\"%" PRIu32 "\"", shard);
		metrics_histogram(out, name, labels, &scale_items, &sum);
	}
}

static void render_sessions(const struct metrics_view *view, struct buffer *out)
{
	metrics_head(out, "http_calls_waiting", "gauge", "Calls to a shard without a reply yet.");
	for (uint32_t shard = 0; shard < view->shards; shard++)
		metrics_line(
		    out, "stampede_http_calls_waiting{shard=\"%" PRIu32 "\"} %" PRIu64 "\n", shard,
		    sum_of(view, offsetof(struct metrics, calls) + shard * sizeof(_Atomic uint64_t)));
	metrics_head(out, "http_frame_calls", "histogram", "Calls in each batch message to a shard.");
	render_traffic(view, "http_frame_calls", offsetof(struct rpc_traffic, calls), out);
	metrics_head(out, "http_frame_replies", "histogram",
	             "Replies, or parts of replies, in each batch message from a shard.");
	render_traffic(view, "http_frame_replies", offsetof(struct rpc_traffic, replies), out);
}

/* How often packages were answered with this status: to holders, and to phones that look for a newer one. */
static uint64_t packages(const struct metrics_view *view, unsigned status)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < view->count; i++)
		sum += look(&view->threads[i]->requests[ROUTE_WALLET_PACKAGE][status]) +
		       look(&view->threads[i]->requests[ROUTE_WALLET_PASS][status]);
	return sum;
}

static void render_wallets(const struct metrics_view *view, struct buffer *out)
{
	static const char name[] = "wallet_packages_total";
	if (!view->has_wallets) return;
	metrics_head(out, name, "counter", "Packages for Apple's wallet, by HTTP status.");
	for (unsigned status = 0; status <= STATUS_LAST - STATUS_FIRST; status++) {
		uint64_t sum = packages(view, status);
		if (sum)
			metrics_line(out, "stampede_%s{status=\"%u\"} %" PRIu64 "\n", name,
			             status + STATUS_FIRST, sum);
	}
	gauge(out, "wallet_kits_bytes", "Memory for the pictures of packages.", view->kits_bytes);
}

void metrics_render(const struct metrics_view *view, struct buffer *out)
{
	render_gauges(view, out);
	render_process(out);
	render_log(view, out);
	render_connections(view, out);
	render_sessions(view, out);
	render_requests(view, out);
	render_latency(view, out);
	render_wallets(view, out);
}
