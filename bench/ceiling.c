/* ceiling: what the HTTP library can do when there is nothing to do.
 *
 *	ceiling [--listen HOST:PORT] [--threads N] [--tls CERT KEY]
 *
 * It answers every POST with 202 and no body, and every GET with 200 and a constant of the size of a pass,
 * on the same library, over the same HTTP/1.1, as Stampede; so its requests per second are the most that any
 * service behind this library could reach on this machine, and a ratio to it means the same on every
 * machine.
 *
 * Each thread has its own loop and its own listening socket; the kernel spreads the connections. When all
 * listen, one line goes to stdout: `ready http=HOST:PORT`, also when it is HTTPS that it speaks there, under the
 * certificate and key of --tls. It runs until it is killed and holds nothing. */
#include <errno.h>
#include <getopt.h>
#include <h2o.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/certificate.h"
#include "bench/listen.h"

enum {
	THREADS_MAX = 64,
	ACCEPTS_PER_EVENT = 16,
	ENTITY_BYTES_MAX = 1 << 16,
	IDLE_TIMEOUT_MS = 3600 * 1000, /* a connection that waits for its turn in a benchmark is kept */
	LOOP_WAIT_MS_MAX = 1000,
};

static const char constant_pass[] =
    "{\"id\":\"p123456\",\"visible\":{\"name\":\"Holder p123456\",\"points\":1250},\"hidden\":{},"
    "\"appearance\":null,\"qr_value\":\"p123456\",\"status\":\"issued\","
    "\"download_url\":\"http://127.0.0.1:8080/p/000102030405060708090a0b0c0d0e0f\","
    "\"reinstall_blocked\":false,\"loyalty_type\":\"balance\",\"balance\":1250,"
    "\"created_at\":\"2000-01-01T00:00:00.000Z\",\"updated_at\":\"2000-01-01T00:00:00.000Z\"}";

static h2o_globalconf_t config;

struct worker {
	pthread_t        thread;
	h2o_context_t    context;
	h2o_accept_ctx_t accept;
	h2o_socket_t    *listener;
};

/* The length is always set: without it the library would chunk the answer, or close the connection. */
static void answer(h2o_req_t *req, int status, const char *reason, h2o_iovec_t body)
{
	static h2o_generator_t generator;

	req->res.status = status;
	req->res.reason = reason;
	req->res.content_length = body.len;
	if (body.len)
		h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
		               H2O_STRLIT("application/json"));
	h2o_start_response(req, &generator);
	h2o_send(req, &body, body.len ? 1 : 0, H2O_SEND_STATE_FINAL);
}

static int on_request(h2o_handler_t *handler, h2o_req_t *req)
{
	(void)handler;
	if (h2o_memis(req->method.base, req->method.len, H2O_STRLIT("POST")))
		answer(req, 202, "Accepted", h2o_iovec_init(NULL, 0));
	else if (h2o_memis(req->method.base, req->method.len, H2O_STRLIT("GET")))
		answer(req, 200, "OK", h2o_iovec_init(constant_pass, sizeof(constant_pass) - 1));
	else
		return -1;
	return 0;
}

static void on_accept(h2o_socket_t *listener, const char *error)
{
	struct worker *worker = listener->data;
	h2o_socket_t  *socket;

	if (error) return;
	for (int i = 0; i < ACCEPTS_PER_EVENT && (socket = h2o_evloop_socket_accept(listener)); i++)
		h2o_accept(&worker->accept, socket);
}

static void configure(void)
{
	h2o_hostconf_t *host;
	h2o_handler_t  *handler;

	h2o_config_init(&config);
	config.server_name = h2o_iovec_init(NULL, 0);
	config.http1.upgrade_to_http2 = 0;
	config.http1.req_timeout = IDLE_TIMEOUT_MS;
	config.max_request_entity_size = ENTITY_BYTES_MAX;
	host = h2o_config_register_host(&config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
	handler = h2o_create_handler(h2o_config_register_path(host, "/", 0), sizeof(*handler));
	handler->on_req = on_request;
}

static void *serve(void *arg)
{
	struct worker *worker = arg;

	/* A signal ends the poll early, not the service. */
	while (h2o_evloop_run(worker->context.loop, LOOP_WAIT_MS_MAX) == 0 || errno == EINTR)
		;
	perror("ceiling: event loop");
	exit(1);
}

static bool worker_init(struct worker *worker, struct sockaddr_in *address, SSL_CTX *tls)
{
	int fd = listen_on(address);

	if (fd < 0) return false;
	h2o_context_init(&worker->context, h2o_evloop_create(), &config);
	worker->accept = (h2o_accept_ctx_t){.ctx = &worker->context, .hosts = config.hosts, .ssl_ctx = tls};
	worker->listener = h2o_evloop_socket_create(worker->context.loop, fd, H2O_SOCKET_FLAG_DONT_READ);
	worker->listener->data = worker;
	h2o_socket_read_start(worker->listener, on_accept);
	return true;
}

struct options {
	struct sockaddr_in address;
	long               thread_count;
	const char        *certificate, *key; /* NULL: no TLS */
};

static bool options_read(int argc, char **argv, struct options *options)
{
	static const struct option rows[] = {{"listen", required_argument, NULL, 'l'},
	                                     {"threads", required_argument, NULL, 't'},
	                                     {"tls", required_argument, NULL, 's'},
	                                     {NULL, 0, NULL, 0}};
	bool                       is_good = address_read("127.0.0.1:0", &options->address);
	int                        letter;

	options->thread_count = 1;
	while (is_good && (letter = getopt_long(argc, argv, "", rows, NULL)) != -1) {
		if (letter == 'l') is_good = address_read(optarg, &options->address);
		if (letter == 't') options->thread_count = strtol(optarg, NULL, 10);
		if (letter == 's') {
			options->certificate = optarg;
			is_good = (options->key = argv[optind]); /* the only option of two words */
			optind += is_good;
		}
		if (letter == '?') is_good = false;
	}
	if (is_good && optind == argc && options->thread_count >= 1 && options->thread_count <= THREADS_MAX)
		return true;
	fprintf(stderr, "usage: ceiling [--listen IPV4:PORT] [--threads 1..%d] [--tls CERT KEY]\n",
	        THREADS_MAX);
	return false;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	struct options       options = {0};
	SSL_CTX             *tls = NULL;

	if (!options_read(argc, argv, &options)) return 2;
	signal(SIGPIPE, SIG_IGN);
	if (options.key && !(tls = certificate_open("ceiling", options.certificate, options.key))) return 1;
	configure();
	for (long i = 0; i < options.thread_count; i++) {
		if (worker_init(&workers[i], &options.address, tls)) continue;
		perror("ceiling: cannot listen");
		return 1;
	}
	for (long i = 1; i < options.thread_count; i++)
		if (pthread_create(&workers[i].thread, NULL, serve, &workers[i])) {
			fprintf(stderr, "ceiling: cannot start a thread\n");
			return 1;
		}
	ready_print("http", &options.address);
	serve(&workers[0]);
}
