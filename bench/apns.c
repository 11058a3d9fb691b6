/* apns: an imitation of APNs that does as little as possible.
 *
 *   apns --cert FILE --key FILE --record FILE [--listen IPV4:PORT]
 *
 * HTTP/2 over TLS by libh2o, one thread. Every push is answered with 200 and no body at once. It is recorded in FILE in 16
 * bytes: the number behind the first 56 digits of its push token, and when it came (ns, monotonic), so that others can compare
 * it with the instant of the change. GET /count returns the number of pushes as JSON; they are all in FILE then. It looks at
 * neither certificate nor headers of the sender, which is no cost of the service. When it listens, it prints `ready
 * https=HOST:PORT` to stdout. */
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/certificate.h"
#include "bench/clock.h"
#include "bench/listen.h"
#include "bench/server.h"

enum { ENTITY_BYTES_MAX = 4096, REPORT_BYTES = 64, DIGITS_AT = 56 };

static FILE    *record;
static uint64_t count;

/* The push tokens of ops.def are 56 digits and the number of a pass. */
static bool note(h2o_iovec_t path)
{
	static const char place[] = "/3/device/";
	size_t            at = sizeof(place) - 1 + DIGITS_AT;
	uint64_t          pair[2] = {0, (uint64_t)mono_now().v};

	if (path.len <= at || memcmp(path.base, place, sizeof(place) - 1) != 0) return false;
	for (; at < path.len; at++)
		pair[0] = pair[0] * 10 + (uint64_t)(path.base[at] - '0');
	count++;
	return fwrite(pair, sizeof(pair), 1, record) == 1;
}

static int on_request(h2o_handler_t *handler, h2o_req_t *req)
{
	char *text;
	int   size;

	(void)handler;
	if (h2o_memis(req->method.base, req->method.len, H2O_STRLIT("POST"))) {
		bool is_good = note(req->path);
		server_answer(req, is_good ? 200 : 404, is_good ? "OK" : "Not Found", h2o_iovec_init(NULL, 0),
		              NULL);
		return 0;
	}
	if (!h2o_memis(req->path.base, req->path.len, H2O_STRLIT("/count")) || fflush(record)) return -1;
	text = h2o_mem_alloc_pool(&req->pool, REPORT_BYTES);
	size = snprintf(text, REPORT_BYTES, "{\"count\":%llu}\n", (unsigned long long)count);
	server_answer(req, 200, "OK", h2o_iovec_init(text, (size_t)size), NULL);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option rows[] = {{"listen", required_argument, NULL, 'l'},
	                                     {"cert", required_argument, NULL, 'c'},
	                                     {"key", required_argument, NULL, 'k'},
	                                     {"record", required_argument, NULL, 'r'},
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
		if (letter == 'r') record = fopen(optarg, "w");
		if (letter == '?') is_good = false;
	}
	if (!is_good || optind != argc || !certificate || !key || !record) {
		fprintf(stderr, "usage: apns --cert FILE --key FILE --record FILE [--listen IPV4:PORT]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (!(tls = certificate_open("apns", certificate, key))) return 1;
	h2o_ssl_register_alpn_protocols(tls, h2o_http2_alpn_protocols);
	server_configure(&config, ENTITY_BYTES_MAX, on_request);
	config.http2.idle_timeout = SERVER_IDLE_MS;
	config.http2.max_concurrent_requests_per_connection = 256; /* the most that the library takes */
	if (!server_open(&server, &config, &address, tls)) {
		perror("apns: cannot listen");
		return 1;
	}
	ready_print("https", &address);
	server_run(&server, "apns");
}
