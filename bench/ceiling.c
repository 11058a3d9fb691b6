/* ceiling: the speed of the HTTP library without any work behind it.
 *
 *   ceiling [--listen HOST:PORT] [--threads N] [--tls CERT KEY]
 *
 * It answers every POST with 202 and no body, and every GET with 200 and a constant of the size of a pass, with the same
 * library and HTTP/1.1 as Stampede. So its requests per second are the most that any service with this library could reach on
 * this machine, and a ratio to it means the same on every machine.
 *
 * Each thread has its own loop and listening socket; the kernel distributes the connections. When all listen, it prints `ready
 * http=HOST:PORT` to stdout, also for HTTPS with the certificate and key of --tls. It runs until it is killed and stores
 * nothing. */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/certificate.h"
#include "bench/listen.h"
#include "bench/server.h"

enum { THREADS_MAX = 64, ENTITY_BYTES_MAX = 1 << 16 };

struct worker {
	pthread_t     thread;
	struct server server;
};

static int on_request(h2o_handler_t *handler, h2o_req_t *req)
{
	(void)handler;
	return server_answer_constant(req) ? 0 : -1;
}

static void *serve(void *arg)
{
	struct worker *worker = arg;

	server_run(&worker->server, "ceiling");
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
	static struct worker    workers[THREADS_MAX];
	static h2o_globalconf_t config;
	struct options          options = {0};
	SSL_CTX                *tls = NULL;

	if (!options_read(argc, argv, &options)) return 2;
	signal(SIGPIPE, SIG_IGN);
	if (options.key && !(tls = certificate_open("ceiling", options.certificate, options.key))) return 1;
	server_configure(&config, ENTITY_BYTES_MAX, on_request);
	for (long i = 0; i < options.thread_count; i++) {
		if (server_open(&workers[i].server, &config, &options.address, tls)) continue;
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
