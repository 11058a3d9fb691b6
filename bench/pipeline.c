/* pipeline: the ceiling, with answers from another process that waits for a disk.
 *
 *   pipeline --journal FILE [--listen HOST:PORT] [--tls CERT KEY] [--inproc]
 *
 * The path of a request through Stampede, and nothing else. libh2o receives requests, and one ZeroMQ message for all requests
 * of a loop turn carries them to another process. That process takes all messages that have arrived, writes a record for their
 * POSTs to a zero-filled file, calls fdatasync, and returns its answers in one message. Then the ceiling's constants are sent.
 * Nothing is parsed, looked up, decided or stored.
 *
 *   bytes of      pipeline     Stampede (balance update, GET)
 *   a call        112          76
 *   a record      200          some 200
 *   an answer     24 or 400    15 or 352
 *
 * So this is what libraries, kernel and disk leave to the plainest service of this design. It is no upper bound: Stampede
 * leaves part of the waiting calls to the next record, sends calls before it writes answers, and reads itself what h2o would
 * read. With --inproc a thread answers instead of a process, without ZeroMQ threads in between: the difference is the cost of
 * separate processes.
 *
 * When it listens, it prints `ready http=HOST:PORT` to stdout. It runs until it is killed, with its other process. FILE, of 64
 * MiB, is left behind. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <zmq.h>

#include "bench/certificate.h"
#include "bench/listen.h"
#include "bench/server.h"

enum {
	ENTITY_BYTES_MAX = 1 << 16,
	CALL_BYTES = 112,
	RECORD_BYTES = 200,
	POST_REPLY_BYTES = 24,
	GET_REPLY_BYTES = 400,
	BLOCK_BYTES = 4096,
	MIB = 1 << 20,
	JOURNAL_BYTES = 64 * MIB,
	CALLS_MAX = 4096, /* connections, with one request each */
	MESSAGES_PER_TURN = 64,
	ENDPOINT_BYTES = 64,
	LOOP_WAIT_MS_MAX = 1000,
};

/* The beginning of a call and an answer; the rest is padding. */
struct head {
	uint32_t slot, is_post;
};

static void stop_unless(bool good, const char *what)
{
	if (good) return;
	perror(what);
	exit(1);
}

/* ---- the journal process ---- */

struct snapshotter {
	void *socket;
	int   journal;
	off_t at;
	char  record[CALLS_MAX * RECORD_BYTES + BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));
	char  replies[CALLS_MAX * GET_REPLY_BYTES];
};

static void journal_open(struct snapshotter *snapshotter, const char *path)
{
	static const char zeros[MIB];

	snapshotter->journal = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	stop_unless(snapshotter->journal >= 0, path);
	for (off_t at = 0; at < JOURNAL_BYTES; at += MIB)
		stop_unless(pwrite(snapshotter->journal, zeros, MIB, at) == MIB, path);
	stop_unless(fsync(snapshotter->journal) == 0, path);
}

static void save(struct snapshotter *snapshotter, size_t bytes)
{
	size_t whole = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;

	if (snapshotter->at + (off_t)whole > JOURNAL_BYTES) snapshotter->at = 0;
	stop_unless(pwrite(snapshotter->journal, snapshotter->record, whole, snapshotter->at) ==
	                (ssize_t)whole,
	            "pwrite");
	stop_unless(fdatasync(snapshotter->journal) == 0, "fdatasync");
	snapshotter->at += (off_t)whole;
}

/* Handles one message's calls: appends answers at *reply_bytes and records at *record_bytes. */
static void take(struct snapshotter *snapshotter, const char *calls, size_t bytes, size_t *reply_bytes,
                 size_t *record_bytes)
{
	struct head head;

	for (size_t at = 0; at + CALL_BYTES <= bytes; at += CALL_BYTES) {
		memcpy(&head, calls + at, sizeof(head));
		if (head.is_post) {
			memcpy(snapshotter->record + *record_bytes, calls + at, CALL_BYTES);
			*record_bytes += RECORD_BYTES;
		}
		memcpy(snapshotter->replies + *reply_bytes, &head, sizeof(head));
		*reply_bytes += head.is_post ? POST_REPLY_BYTES : GET_REPLY_BYTES;
	}
}

/* Sleeps until a message comes, and takes all that are there; *to gets the sender. */
static void keep_once(struct snapshotter *snapshotter)
{
	zmq_msg_t to, from, calls, replies;
	size_t    reply_bytes = 0, record_bytes = 0;

	zmq_msg_init(&to);
	stop_unless(zmq_msg_recv(&to, snapshotter->socket, 0) >= 0, "zmq_msg_recv");
	zmq_msg_init(&from);
	do {
		zmq_msg_init(&calls);
		stop_unless(zmq_msg_recv(&calls, snapshotter->socket, 0) >= 0, "zmq_msg_recv");
		take(snapshotter, zmq_msg_data(&calls), zmq_msg_size(&calls), &reply_bytes, &record_bytes);
		zmq_msg_close(&calls);
	} while (zmq_msg_recv(&from, snapshotter->socket, ZMQ_DONTWAIT) >= 0);
	zmq_msg_close(&from);
	if (record_bytes) save(snapshotter, record_bytes);
	stop_unless(zmq_msg_init_size(&replies, reply_bytes) == 0, "zmq_msg_init_size");
	memcpy(zmq_msg_data(&replies), snapshotter->replies, reply_bytes);
	stop_unless(zmq_msg_send(&to, snapshotter->socket, ZMQ_SNDMORE) >= 0, "zmq_msg_send");
	stop_unless(zmq_msg_send(&replies, snapshotter->socket, 0) >= 0, "zmq_msg_send");
}

static void keep_at(struct snapshotter *snapshotter, void *context, const char *endpoint, const char *path)
{
	journal_open(snapshotter, path);
	snapshotter->socket = zmq_socket(context, ZMQ_ROUTER);
	stop_unless(snapshotter->socket && zmq_bind(snapshotter->socket, endpoint) == 0, "zmq_bind");
}

static void *keep(void *snapshotter) __attribute__((noreturn));
static void *keep(void *snapshotter)
{
	for (;;)
		keep_once(snapshotter);
}

/* ---- the HTTP process ---- */

static struct {
	void      *socket;
	h2o_req_t *asked[CALLS_MAX]; /* by slot; with HTTP/1 a lost caller is not noticed before its answer */
	uint32_t   free[CALLS_MAX], free_count;
	char       calls[CALLS_MAX * CALL_BYTES];
	size_t     bytes;
} asking;

static void on_early_bytes(h2o_socket_t *socket, const char *error)
{
	(void)error;
	h2o_socket_read_stop(socket);
}

/* Keeps the connection in epoll while the answer is awaited: removing and adding it would be two more system calls a request.
 * With TLS the library must not read ahead. Only for callers that wait for an answer before they send again: early bytes would
 * move memory that the current request points to. */
static void hold(h2o_req_t *req)
{
	h2o_socket_t *socket = req->conn->callbacks->get_socket(req->conn);

	if (!socket->ssl) h2o_socket_read_start(socket, on_early_bytes);
}

static int on_request(h2o_handler_t *handler, h2o_req_t *req)
{
	bool        is_post = h2o_memis(req->method.base, req->method.len, H2O_STRLIT("POST"));
	bool        is_get = h2o_memis(req->method.base, req->method.len, H2O_STRLIT("GET"));
	struct head head = {.is_post = is_post ? 1 : 0};
	char       *call = asking.calls + asking.bytes;
	size_t      room = CALL_BYTES - sizeof(head);

	(void)handler;
	if (!asking.free_count || (!is_post && !is_get)) return -1;
	head.slot = asking.free[--asking.free_count];
	asking.asked[head.slot] = req;
	memcpy(call, &head, sizeof(head));
	memcpy(call + sizeof(head), req->path.base, req->path.len < room ? req->path.len : room);
	asking.bytes += CALL_BYTES;
	hold(req);
	return 0;
}

/* There is room: far fewer messages are in flight than ZeroMQ accepts. */
static void send_calls(void)
{
	if (!asking.bytes || zmq_send(asking.socket, asking.calls, asking.bytes, ZMQ_DONTWAIT) < 0) return;
	asking.bytes = 0;
}

static void answer_all(const char *replies, size_t bytes)
{
	struct head head;

	for (size_t at = 0; at < bytes; at += head.is_post ? POST_REPLY_BYTES : GET_REPLY_BYTES) {
		memcpy(&head, replies + at, sizeof(head));
		h2o_req_t *req = asking.asked[head.slot];
		asking.free[asking.free_count++] = head.slot;
		server_answer_constant(req);
	}
}

/* True: the loop must not sleep, because requests were answered outside it, or more has arrived. */
static bool take_replies(void)
{
	zmq_msg_t message;
	size_t    size = sizeof(int);
	int       events = 0;
	bool      answered = false;

	zmq_msg_init(&message);
	for (int i = 0; i < MESSAGES_PER_TURN && zmq_msg_recv(&message, asking.socket, ZMQ_DONTWAIT) >= 0;
	     i++) {
		answer_all(zmq_msg_data(&message), zmq_msg_size(&message));
		answered = true;
	}
	zmq_msg_close(&message);
	stop_unless(zmq_getsockopt(asking.socket, ZMQ_EVENTS, &events, &size) == 0, "ZMQ_EVENTS");
	return answered || events & ZMQ_POLLIN;
}

static void on_replies(h2o_socket_t *socket, const char *error)
{
	(void)socket;
	if (!error) take_replies();
}

static void connect_to(void *context, const char *endpoint, h2o_loop_t *loop)
{
	size_t size = sizeof(int);
	int    fd;

	for (uint32_t slot = 0; slot < CALLS_MAX; slot++)
		asking.free[asking.free_count++] = slot;
	asking.socket = zmq_socket(context, ZMQ_DEALER);
	stop_unless(asking.socket && zmq_connect(asking.socket, endpoint) == 0, "zmq_connect");
	stop_unless(zmq_getsockopt(asking.socket, ZMQ_FD, &fd, &size) == 0, "ZMQ_FD");
	h2o_socket_read_start(h2o_evloop_socket_create(loop, dup(fd), H2O_SOCKET_FLAG_DONT_READ), on_replies);
}

/* ---- both ---- */

static void end(int signal_number)
{
	(void)signal_number;
	_exit(1);
}

static struct snapshotter snapshotter; /* the child's, or the thread's */

static void begin_thread(void *context, const char *endpoint, const char *path)
{
	pthread_t thread;

	keep_at(&snapshotter, context, endpoint, path);
	stop_unless(pthread_create(&thread, NULL, keep, &snapshotter) == 0, "pthread_create");
}

/* Call before this process has a ZeroMQ context: its threads do not survive a fork. On return the child listens. */
static void begin_process(const char *endpoint, const char *path)
{
	int  ready[2];
	char byte;

	stop_unless(pipe(ready) == 0, "pipe");
	pid_t child = fork();
	stop_unless(child >= 0, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		keep_at(&snapshotter, zmq_ctx_new(), endpoint, path);
		stop_unless(write(ready[1], "", 1) == 1, "write");
		keep(&snapshotter);
	}
	stop_unless(read(ready[0], &byte, 1) == 1, "read");
	close(ready[0]);
	close(ready[1]);
}

struct options {
	struct sockaddr_in address;
	const char        *journal, *certificate, *key; /* NULL: no TLS */
	bool               inproc;
};

static bool options_read(int argc, char **argv, struct options *options)
{
	static const struct option rows[] = {{"listen", required_argument, NULL, 'l'},
	                                     {"journal", required_argument, NULL, 'j'},
	                                     {"tls", required_argument, NULL, 's'},
	                                     {"inproc", no_argument, NULL, 'i'},
	                                     {NULL, 0, NULL, 0}};
	bool                       is_good = address_read("127.0.0.1:0", &options->address);
	int                        letter;

	while (is_good && (letter = getopt_long(argc, argv, "", rows, NULL)) != -1) {
		if (letter == 'l') is_good = address_read(optarg, &options->address);
		if (letter == 'j') options->journal = optarg;
		if (letter == 's') {
			options->certificate = optarg;
			is_good = (options->key = argv[optind]); /* the only option of two words */
			optind += is_good;
		}
		if (letter == 'i') options->inproc = true;
		if (letter == '?') is_good = false;
	}
	if (is_good && optind == argc && options->journal) return true;
	fprintf(stderr, "usage: pipeline --journal FILE [--listen IPV4:PORT] [--tls CERT KEY] [--inproc]\n");
	return false;
}

int main(int argc, char **argv)
{
	static h2o_globalconf_t config;
	static struct server    server;
	struct options          options = {0};
	SSL_CTX                *tls = NULL;
	void                   *context;
	char                    endpoint[ENDPOINT_BYTES];

	if (!options_read(argc, argv, &options)) return 2;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, end); /* the child has reported why, unless it was killed */
	if (options.key && !(tls = certificate_open("pipeline", options.certificate, options.key))) return 1;
	snprintf(endpoint, sizeof(endpoint), "%s-%d",
	         options.inproc ? "inproc://bench" : "ipc://@stampede-bench",
	         getpid()); /* a name, not a file */
	if (!options.inproc) begin_process(endpoint, options.journal);
	context = zmq_ctx_new();
	if (options.inproc) begin_thread(context, endpoint, options.journal);
	server_configure(&config, ENTITY_BYTES_MAX, on_request);
	stop_unless(server_open(&server, &config, &options.address, tls), "pipeline: cannot listen");
	connect_to(context, endpoint, server.context.loop);
	ready_print("http", &options.address);
	for (bool more = false;; more = take_replies()) {
		int failed = h2o_evloop_run(server.context.loop, more ? 0 : LOOP_WAIT_MS_MAX);
		stop_unless(!failed || errno == EINTR, "pipeline: event loop");
		send_calls();
	}
}
