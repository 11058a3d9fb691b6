/* receiver: a webhook endpoint that does as little as possible.
 *
 *   receiver --cert FILE --key FILE [--listen HOST:PORT]
 *
 * HTTPS by libh2o, one thread. It answers every POST with 200 and no body, counts it, and measures from the event's
 * `created_at`, in milliseconds, to its arrival. An event without one, or from the future, is `untimed`. GET /report returns
 * JSON since the last GET /reset: `count` of deliveries, and `events`, those that were the first of their event. Ids of events
 * are remembered for ever, so a copy after a reset does not count as an event. GET /body returns the first body, so that other
 * tools can post the same. It verifies no signature, which is no cost of the service. When it listens, it prints `ready
 * https=HOST:PORT` to stdout. */
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/certificate.h"
#include "bench/clock.h"
#include "bench/histogram.h"
#include "bench/listen.h"
#include "bench/server.h"

enum {
	ENTITY_BYTES_MAX = 2 << 20,
	REPORT_BYTES = 512,
	/* Slots, for half as many events. Above that the table is rebuilt, in some ms. */
	KNOWN_AT_FIRST = 1 << 20,
};

/* Since the last reset. */
static struct {
	uint64_t         count, events, untimed;
	mono_ns          first, last;
	struct histogram latency;
	char            *body;
	size_t           body_size;
} seen;

static void answer(h2o_req_t *req, h2o_iovec_t body)
{
	server_answer(req, 200, "OK", body, NULL);
}

/* ---- known events ---- */

/* Hashes of their ids, open addressing, at most half full; 0: free. Two ids with the same hash would count as copies and end
 * the run; among a million ids that happens once in 37 million runs. */
static struct {
	uint64_t *slots;
	size_t    size, count; /* size: a power of two */
} known;

/* The slot that has it or would get it. */
static uint64_t *known_slot(uint64_t hash)
{
	size_t at = hash & (known.size - 1);

	while (known.slots[at] && known.slots[at] != hash)
		at = (at + 1) & (known.size - 1);
	return &known.slots[at];
}

static void known_resize(size_t size)
{
	uint64_t *old = known.slots;
	size_t    old_size = known.size;

	known.slots = malloc(size * sizeof(*known.slots));
	if (!known.slots) {
		fprintf(stderr, "receiver: no memory for the ids of events\n");
		exit(1);
	}
	memset(known.slots, 0, size * sizeof(*known.slots)); /* now, not page by page while deliveries come */
	known.size = size;
	for (size_t i = 0; i < old_size; i++)
		if (old[i]) *known_slot(old[i]) = old[i];
	free(old);
}

/* FNV-1a, with the high bits mixed into those that choose the slot. */
static uint64_t hash_of(h2o_iovec_t text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.base[i]) * UINT64_C(0x100000001b3);
	hash ^= hash >> 32;
	return hash ? hash : 1;
}

static bool is_new(h2o_iovec_t id)
{
	uint64_t  hash = hash_of(id);
	uint64_t *slot = known_slot(hash);

	if (*slot) return false;
	*slot = hash;
	if (++known.count * 2 > known.size) known_resize(known.size * 2);
	return true;
}

/* ---- arrivals ---- */

/* The first text of that name in the body is the event's own. `name` is as in the body: `"name":"`. Empty: none. */
static h2o_iovec_t text_of(h2o_iovec_t body, const char *name)
{
	size_t      name_bytes = strlen(name);
	char       *at = memmem(body.base, body.len, name, name_bytes), *end;
	h2o_iovec_t text = {0};

	if (!at) return text;
	text.base = at + name_bytes;
	end = memchr(text.base, '"', (size_t)(body.base + body.len - text.base));
	if (end) text.len = (size_t)(end - text.base);
	return text;
}

/* Errors: -1: the event has no time, or one of another form. */
static int64_t created_ns(h2o_iovec_t body)
{
	h2o_iovec_t created = text_of(body, "\"created_at\":\"");
	char        text[sizeof("2000-01-01T00:00:00.000Z")] = "", *rest, *end;
	struct tm   parts = {0};
	long        ms;

	if (created.len != sizeof(text) - 1) return -1;
	memcpy(text, created.base, created.len);
	rest = strptime(text, "%Y-%m-%dT%H:%M:%S.", &parts);
	if (!rest) return -1;
	ms = strtol(rest, &end, 10);
	if (end != rest + 3 || strcmp(end, "Z") != 0) return -1;
	return timegm(&parts) * NS_PER_SEC + ms * NS_PER_MS;
}

static void keep(h2o_iovec_t body)
{
	char *copy = realloc(seen.body, body.len + 1);

	if (!copy) return;
	memcpy(copy, body.base, body.len);
	seen.body = copy;
	seen.body_size = body.len;
}

static void count(h2o_iovec_t body)
{
	struct timespec wall;
	int64_t         created = created_ns(body), now;
	h2o_iovec_t     id = text_of(body, "\"id\":\"");

	clock_gettime(CLOCK_REALTIME, &wall);
	now = wall.tv_sec * NS_PER_SEC + wall.tv_nsec;
	seen.last = mono_now();
	if (!seen.count++) {
		seen.first = seen.last;
		keep(body);
	}
	seen.events += id.len && is_new(id);
	if (created < 0 || created > now)
		seen.untimed++;
	else
		histogram_add(&seen.latency, (uint64_t)(now - created));
}

static uint64_t latency_us(uint32_t share_ppm)
{
	return histogram_quantile(&seen.latency, share_ppm) / NS_PER_US;
}

static void report(h2o_req_t *req)
{
	char   *text = h2o_mem_alloc_pool(&req->pool, REPORT_BYTES);
	int64_t active_ns = seen.last.v - seen.first.v;
	int     size = snprintf(
	        text, REPORT_BYTES,
	        "{\"count\":%llu,\"events\":%llu,\"untimed\":%llu,\"active_s\":%lld.%09lld,\"latency_us\":{"
	            "\"p50\":%llu,\"p99\":%llu,\"p99_9\":%llu,\"max\":%llu}}\n",
	        (unsigned long long)seen.count, (unsigned long long)seen.events, (unsigned long long)seen.untimed,
	        (long long)(active_ns / NS_PER_SEC), (long long)(active_ns % NS_PER_SEC),
	        (unsigned long long)latency_us(500000), (unsigned long long)latency_us(990000),
	        (unsigned long long)latency_us(999000), (unsigned long long)(seen.latency.max / NS_PER_US));

	answer(req, h2o_iovec_init(text, (size_t)size));
}

static int on_request(h2o_handler_t *handler, h2o_req_t *req)
{
	(void)handler;
	if (h2o_memis(req->method.base, req->method.len, H2O_STRLIT("POST"))) {
		count(req->entity);
		answer(req, h2o_iovec_init(NULL, 0));
	} else if (h2o_memis(req->path.base, req->path.len, H2O_STRLIT("/report"))) {
		report(req);
	} else if (h2o_memis(req->path.base, req->path.len, H2O_STRLIT("/reset"))) {
		seen.count = seen.events = seen.untimed = 0;
		histogram_clear(&seen.latency);
		answer(req, h2o_iovec_init(NULL, 0));
	} else if (h2o_memis(req->path.base, req->path.len, H2O_STRLIT("/body")) && seen.body) {
		answer(req, h2o_strdup(&req->pool, seen.body, seen.body_size));
	} else {
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option rows[] = {{"listen", required_argument, NULL, 'l'},
	                                     {"cert", required_argument, NULL, 'c'},
	                                     {"key", required_argument, NULL, 'k'},
	                                     {NULL, 0, NULL, 0}};
	static h2o_globalconf_t    config;
	static struct server       server;
	struct sockaddr_in         address = {0};
	const char                *certificate = NULL, *key = NULL;
	bool                       is_good = address_read("127.0.0.1:0", &address);
	SSL_CTX                   *tls;
	int                        letter;

	while (is_good && (letter = getopt_long(argc, argv, "", rows, NULL)) != -1) {
		if (letter == 'l') is_good = address_read(optarg, &address);
		if (letter == 'c') certificate = optarg;
		if (letter == 'k') key = optarg;
		if (letter == '?') is_good = false;
	}
	if (!is_good || optind != argc || !certificate || !key) {
		fprintf(stderr, "usage: receiver --cert FILE --key FILE [--listen IPV4:PORT]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	known_resize(KNOWN_AT_FIRST);
	if (!(tls = certificate_open("receiver", certificate, key))) return 1;
	server_configure(&config, ENTITY_BYTES_MAX, on_request);
	if (!server_open(&server, &config, &address, tls)) {
		perror("receiver: cannot listen");
		return 1;
	}
	ready_print("https", &address);
	server_run(&server, "receiver");
}
