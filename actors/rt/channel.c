/* Mailboxes over ZeroMQ, each a ROUTER or a DEALER. The process has one context while it has a channel. The supervisor forks with
 * one: between fork and exec its child calls nothing of this file. A packet's bytes live in the zmq_msg_t behind its `hold`, which
 * is allocated at the first receive into that packet and then reused. */
#include "actors/rt/channel.h"
#include "actors/rt/needs.h"
#include "actors/rt/trace.h"
#include "schemas/limits.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

enum {
	/* Credits stop a sender long before this many messages wait, so a send never meets this limit. */
	WAITING_MAX = SESSION_CREDIT_COMMANDS * 2 + 64,
	RECONNECT_MS = 20,
	RECONNECT_MS_MAX = 200,
	SOCKETS_MAX = 3 * HTTP_THREADS_MAX * SHARDS_MAX +
	              64, /* of one process; a DEALER's monitor takes two */
	MONITOR_ENDPOINT_TEXT = 48,
	/* Of a context with its first socket: threads, and descriptors at the most. */
	CONTEXT_THREADS = 2,
	CONTEXT_DESCRIPTORS = 12,
};

struct channel {
	void *socket;
	void *monitor; /* DEALER only: the reading end of its monitor */
	bool  is_router;
	bool  link_is_up; /* DEALER: the last result of channel_link() */
	bool  may_wait;   /* something may have arrived without a wake-up */
	char  callee[32]; /* DEALER: the last part of its endpoint, for traces */
};

/* --- the process's context --- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void           *context;  /* NULL: no channel is open */
static unsigned        channels; /* open ones */
static const char     *lacked;   /* what the last attempt to make a context lacked; NULL: nothing */
static int             lacked_error;

const char *channel_lack(void)
{
	int         fds[CONTEXT_DESCRIPTORS], error = 0;
	unsigned    count = 0;
	const char *lack = NULL;
	while (!error && count < CONTEXT_DESCRIPTORS) {
		int fd = count ? eventfd(0, EFD_CLOEXEC) : epoll_create1(EPOLL_CLOEXEC);
		if (fd < 0)
			error = errno;
		else
			fds[count++] = fd;
	}
	if (error) lack = count ? "an eventfd" : "an epoll instance";
	if (!error && needs_threads(CONTEXT_THREADS, &error) < CONTEXT_THREADS) lack = "a thread";
	while (count)
		close(fds[--count]);
	errno = error;
	return lack;
}

const char *channel_lacked(int *error)
{
	pthread_mutex_lock(&mutex);
	const char *what = lacked;
	*error = lacked_error;
	pthread_mutex_unlock(&mutex);
	return what;
}

static enum err context_take(void)
{
	pthread_mutex_lock(&mutex);
	if (!context) lacked = channel_lack();
	lacked_error = lacked ? errno : 0;
	if (!context && !lacked && (context = zmq_ctx_new()))
		must(!zmq_ctx_set(context, ZMQ_MAX_SOCKETS, SOCKETS_MAX));
	channels += context != NULL;
	enum err err = context ? OK : errno == ENOMEM ? ERR_NO_MEMORY : ERR_IO;
	pthread_mutex_unlock(&mutex);
	return err;
}

/* The last one ends the context, which waits for nothing: each socket was closed, and none lingers. */
static void context_give_back(void)
{
	pthread_mutex_lock(&mutex);
	if (--channels == 0) {
		while (zmq_ctx_term(context) && errno == EINTR)
			;
		context = NULL;
	}
	pthread_mutex_unlock(&mutex);
}

/* --- open and close --- */

static void set(void *socket, int option, int value)
{
	must(zmq_setsockopt(socket, option, &value, sizeof value) == 0);
}

static enum err channel_new(int type, struct channel **made)
{
	struct channel *channel = calloc(1, sizeof *channel);
	enum err        err = channel ? context_take() : ERR_NO_MEMORY;
	if (err) {
		free(channel);
		return err;
	}
	*made = channel;
	channel->is_router = type == ZMQ_ROUTER;
	channel->socket = zmq_socket(context, type);
	if (!channel->socket) return ERR_IO;
	int64_t bytes_max = FRAME_BYTES_MAX;
	must(zmq_setsockopt(channel->socket, ZMQ_MAXMSGSIZE, &bytes_max, sizeof bytes_max) == 0);
	set(channel->socket, ZMQ_LINGER, 0);
	set(channel->socket, ZMQ_SNDHWM, WAITING_MAX);
	set(channel->socket, ZMQ_RCVHWM, WAITING_MAX);
	if (channel->is_router) {
		/* A reply to a peer that has gone must be an error, not lost silently. */
		set(channel->socket, ZMQ_ROUTER_MANDATORY, 1);
	} else {
		set(channel->socket, ZMQ_RECONNECT_IVL, RECONNECT_MS);
		set(channel->socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MS_MAX);
	}
	return OK;
}

static enum err monitor_begin(struct channel *channel)
{
	static atomic_uint number; /* every monitor in the process needs its own endpoint */
	char               endpoint[MONITOR_ENDPOINT_TEXT];
	snprintf(endpoint, sizeof(endpoint), "inproc://channel-monitor-%u", atomic_fetch_add(&number, 1));
	int events = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED;
	if (zmq_socket_monitor(channel->socket, endpoint, events) != 0) return ERR_IO;
	channel->monitor = zmq_socket(context, ZMQ_PAIR);
	if (!channel->monitor) return ERR_IO;
	set(channel->monitor, ZMQ_LINGER, 0);
	return zmq_connect(channel->monitor, endpoint) == 0 ? OK : ERR_IO;
}

enum err channel_bind(struct channel **channel, const char *endpoint)
{
	struct channel *made = NULL;
	enum err        err;
	if ((err = channel_new(ZMQ_ROUTER, &made))) goto out;
	if (zmq_bind(made->socket, endpoint) != 0) {
		err = ERR_IO;
		goto out;
	}
	*channel = made;
	made = NULL;
out:
	channel_close(&made);
	return err;
}

enum err channel_bind_again(struct channel *channel, const char *endpoint)
{
	must(channel->is_router);
	return zmq_bind(channel->socket, endpoint) == 0 ? OK : ERR_IO;
}

enum err channel_connect(struct channel **channel, const char *endpoint)
{
	struct channel *made = NULL;
	enum err        err;
	if ((err = channel_new(ZMQ_DEALER, &made))) goto out;
	if ((err = monitor_begin(made))) goto out;
	const char *last = strrchr(endpoint, '/');
	snprintf(made->callee, sizeof made->callee, "%s", last ? last + 1 : endpoint);
	if (zmq_connect(made->socket, endpoint) != 0) {
		err = ERR_IO;
		goto out;
	}
	*channel = made;
	made = NULL;
out:
	channel_close(&made);
	return err;
}

void channel_close(struct channel **channel)
{
	struct channel *ended = *channel;
	int             reason = errno; /* of a failed bind or connect, which callers log */
	if (!ended) return;
	if (ended->monitor) {
		zmq_socket_monitor(ended->socket, NULL, 0);
		zmq_close(ended->monitor);
	}
	if (ended->socket) zmq_close(ended->socket);
	context_give_back();
	free(ended);
	*channel = NULL;
	errno = reason;
}

static int fd_of(void *socket)
{
	int    fd = -1;
	size_t size = sizeof fd;
	must(zmq_getsockopt(socket, ZMQ_FD, &fd, &size) == 0);
	return fd;
}

int channel_fd(const struct channel *channel)
{
	return fd_of(channel->socket);
}

int channel_link_fd(const struct channel *channel)
{
	must(channel->monitor != NULL);
	return fd_of(channel->monitor);
}

bool channel_waiting(struct channel *channel)
{
	int    events = 0;
	size_t size = sizeof(events);
	(void)zmq_getsockopt(channel->socket, ZMQ_EVENTS, &events, &size);
	return channel->may_wait = events & ZMQ_POLLIN;
}

bool channel_has_news(struct channel *channel)
{
	return channel->may_wait && channel_waiting(channel);
}

static const char *callee_of(const struct channel *channel)
{
	return channel->is_router ? NULL : channel->callee;
}

static int send_part(struct channel *channel, const void *at, size_t size, int flags)
{
	int sent;
	do
		sent = zmq_send(channel->socket, at, size, flags | ZMQ_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0 || errno != EAGAIN) return sent;
	/* A send processes messages of libzmq's threads only now and then, and could be refused although there is
	 * room. Asking for the state processes them. */
	(void)channel_waiting(channel);
	channel->may_wait = true;
	return zmq_send(channel->socket, at, size, flags | ZMQ_DONTWAIT);
}

enum err channel_send(struct channel *channel, const struct peer *to, struct span bytes)
{
	int sent = 0;
	must(channel->is_router == (to != NULL));
	/* ZMQ_IMMEDIATE is no substitute: with it, the socket discards unread messages when the connection ends,
	 * and those must still be read. */
	if (!to && !channel->link_is_up) return ERR_WOULD_BLOCK;
	channel->may_wait = true;
	/* A ROUTER reports a fault of the peer when it takes the address; the body then follows. */
	if (to) sent = send_part(channel, to->id, to->size, ZMQ_SNDMORE);
	if (sent >= 0) sent = send_part(channel, bytes.at, bytes.size, 0);
	if (sent >= 0 && trace_frames) trace_frame(TRACE_SENT, callee_of(channel), to, bytes);
	if (sent >= 0) return OK;
	switch (errno) {
	case EAGAIN:
	case EINTR: return ERR_WOULD_BLOCK;
	case EHOSTUNREACH: return ERR_PEER_GONE;
	default: return ERR_IO;
	}
}

/* Receives one part into `message`. False: nothing is there. */
static bool recv_part(struct channel *channel, zmq_msg_t *message)
{
	int got;
	do
		got = zmq_msg_recv(message, channel->socket, ZMQ_DONTWAIT);
	while (got < 0 && errno == EINTR);
	channel->may_wait = got >= 0;
	return got >= 0;
}

/* Receives the address before a ROUTER's message. *known is false for one that is not ours. */
static bool recv_address(struct channel *channel, struct peer *from, bool *known)
{
	zmq_msg_t address;
	zmq_msg_init(&address);
	bool   got = recv_part(channel, &address);
	size_t size = zmq_msg_size(&address);
	*known = got && size <= sizeof(from->id);
	if (*known) {
		from->size = (uint8_t)size;
		memcpy(from->id, zmq_msg_data(&address), size);
	}
	zmq_msg_close(&address);
	return got;
}

enum err channel_recv(struct channel *channel, struct packet *packet)
{
	zmq_msg_t *body = packet->hold;
	if (!body) {
		body = malloc(sizeof(*body));
		if (!body) return ERR_NO_MEMORY;
		zmq_msg_init(body);
		packet->hold = body;
	}
	packet->bytes = span_of(NULL, 0);
	/* A message of another form than ours (one part of at most FRAME_BYTES_MAX) is read to its end and
	 * dropped. */
	for (;;) {
		bool fits = true;
		if (channel->is_router && !recv_address(channel, &packet->from, &fits))
			return ERR_WOULD_BLOCK;
		if (!recv_part(channel, body)) return ERR_WOULD_BLOCK;
		for (; zmq_msg_more(body); fits = false)
			if (!recv_part(channel, body)) return ERR_WOULD_BLOCK;
		if (!fits) continue;
		packet->bytes = span_of(zmq_msg_data(body), zmq_msg_size(body));
		if (trace_frames)
			trace_frame(TRACE_RECEIVED, callee_of(channel), &packet->from, packet->bytes);
		return OK;
	}
}

void packet_close(struct packet *packet)
{
	if (packet->hold) {
		zmq_msg_close(packet->hold);
		free(packet->hold);
	}
	*packet = (struct packet){0};
}

enum link channel_link(struct channel *channel)
{
	struct {
		uint16_t event;
		uint32_t value;
	} __attribute__((packed)) news;
	must(channel->monitor != NULL);
	/* Each report has two parts: the event with its value, and the endpoint, which is known. */
	int got = zmq_recv(channel->monitor, &news, sizeof(news), ZMQ_DONTWAIT);
	if (got < 0) return LINK_SAME;
	char endpoint;
	(void)zmq_recv(channel->monitor, &endpoint, sizeof(endpoint), ZMQ_DONTWAIT);
	must(got == sizeof(news));
	channel->link_is_up = news.event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
	return channel->link_is_up ? LINK_UP : LINK_DOWN;
}
