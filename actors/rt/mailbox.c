/* Mailboxes over ZeroMQ: a ROUTER or a DEALER each, one context for the process, made at the first use and so
 * never before a fork. CZMQ makes and ends the sockets; messages go through libzmq itself, which needs no
 * allocation for what CZMQ would wrap. Lifetime of a letter's bytes: inside the zmq_msg_t behind its `hold`,
 * which is allocated at the first receive into that letter and used again by those that follow. */
#include "actors/rt/mailbox.h"
#include "actors/rt/trace.h"
#include "schemas/limits.h"

#include <czmq.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
	/* Credits stop a sender long before this many messages wait, so that sending never meets the mark. */
	WAITING_MAX = SESSION_CREDIT_COMMANDS * 2 + 64,
	RECONNECT_MS = 20,
	RECONNECT_MS_MAX = 200,
	MONITOR_ENDPOINT_TEXT = 48,
};

struct mailbox {
	zsock_t *socket;
	zsock_t *monitor; /* DEALER only: the reading end of its monitor */
	void    *raw;     /* libzmq's handle of `socket` */
	bool     is_router;
	bool     link_is_up; /* DEALER: as mailbox_link() said last */
	bool     may_wait;   /* something that the descriptor does not tell of */
	char     callee[32]; /* DEALER: the last part of its endpoint, for traces */
};

static void begin_process(void)
{
	/* Otherwise the first socket would install handlers for SIGINT and SIGTERM over ours. */
	zsys_handler_set(NULL);
	zsys_init();
}

static enum err mailbox_new(int type, struct mailbox **made)
{
	/* CZMQ's own first-time set-up is not safe when two threads come first. */
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, begin_process);

	struct mailbox *mailbox = calloc(1, sizeof(*mailbox));
	if (!mailbox) return ERR_NO_MEMORY;
	mailbox->is_router = type == ZMQ_ROUTER;
	mailbox->socket = zsock_new(type);
	*made = mailbox;
	if (!mailbox->socket) return ERR_IO;
	mailbox->raw = zsock_resolve(mailbox->socket);
	zsock_set_linger(mailbox->socket, 0);
	zsock_set_sndhwm(mailbox->socket, WAITING_MAX);
	zsock_set_rcvhwm(mailbox->socket, WAITING_MAX);
	zsock_set_maxmsgsize(mailbox->socket, FRAME_BYTES_MAX);
	if (mailbox->is_router) {
		/* A reply to a peer that is gone is an error to look at, not something to lose silently. */
		zsock_set_router_mandatory(mailbox->socket, 1);
	} else {
		zsock_set_reconnect_ivl(mailbox->socket, RECONNECT_MS);
		zsock_set_reconnect_ivl_max(mailbox->socket, RECONNECT_MS_MAX);
	}
	return OK;
}

static enum err monitor_begin(struct mailbox *mailbox)
{
	static atomic_uint number; /* every monitor in the process needs an endpoint of its own */
	char               endpoint[MONITOR_ENDPOINT_TEXT];
	snprintf(endpoint, sizeof(endpoint), "inproc://mailbox-monitor-%u", atomic_fetch_add(&number, 1));
	int events = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED;
	if (zmq_socket_monitor(mailbox->raw, endpoint, events) != 0) return ERR_IO;
	mailbox->monitor = zsock_new(ZMQ_PAIR);
	if (!mailbox->monitor) return ERR_IO;
	zsock_set_linger(mailbox->monitor, 0);
	return zmq_connect(zsock_resolve(mailbox->monitor), endpoint) == 0 ? OK : ERR_IO;
}

enum err mailbox_bind(struct mailbox **mailbox, const char *endpoint)
{
	struct mailbox *made = NULL;
	enum err        err;
	if ((err = mailbox_new(ZMQ_ROUTER, &made))) goto out;
	if (zmq_bind(made->raw, endpoint) != 0) {
		err = ERR_IO;
		goto out;
	}
	*mailbox = made;
	made = NULL;
out:
	mailbox_close(&made);
	return err;
}

enum err mailbox_connect(struct mailbox **mailbox, const char *endpoint)
{
	struct mailbox *made = NULL;
	enum err        err;
	if ((err = mailbox_new(ZMQ_DEALER, &made))) goto out;
	if ((err = monitor_begin(made))) goto out;
	const char *last = strrchr(endpoint, '/');
	snprintf(made->callee, sizeof made->callee, "%s", last ? last + 1 : endpoint);
	if (zmq_connect(made->raw, endpoint) != 0) {
		err = ERR_IO;
		goto out;
	}
	*mailbox = made;
	made = NULL;
out:
	mailbox_close(&made);
	return err;
}

void mailbox_close(struct mailbox **mailbox)
{
	struct mailbox *ended = *mailbox;
	if (!ended) return;
	if (ended->monitor) zmq_socket_monitor(ended->raw, NULL, 0);
	zsock_destroy(&ended->monitor);
	zsock_destroy(&ended->socket);
	free(ended);
	*mailbox = NULL;
}

int mailbox_fd(const struct mailbox *mailbox)
{
	return (int)zsock_fd(mailbox->socket);
}

int mailbox_link_fd(const struct mailbox *mailbox)
{
	must(mailbox->monitor != NULL);
	return (int)zsock_fd(mailbox->monitor);
}

bool mailbox_waiting(struct mailbox *mailbox)
{
	int    events = 0;
	size_t size = sizeof(events);
	(void)zmq_getsockopt(mailbox->raw, ZMQ_EVENTS, &events, &size);
	return mailbox->may_wait = events & ZMQ_POLLIN;
}

bool mailbox_has_news(struct mailbox *mailbox)
{
	return mailbox->may_wait && mailbox_waiting(mailbox);
}

static const char *callee_of(const struct mailbox *mailbox)
{
	return mailbox->is_router ? NULL : mailbox->callee;
}

static int send_part(struct mailbox *mailbox, const void *at, size_t size, int flags)
{
	int sent;
	do
		sent = zmq_send(mailbox->raw, at, size, flags | ZMQ_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0 || errno != EAGAIN) return sent;
	/* A send takes in what libzmq's own threads have told the socket only now and then, and would go on
	 * refusing though room has been made; asking for the state takes it in. */
	(void)mailbox_waiting(mailbox);
	mailbox->may_wait = true;
	return zmq_send(mailbox->raw, at, size, flags | ZMQ_DONTWAIT);
}

enum err mailbox_send(struct mailbox *mailbox, const struct peer *to, struct span bytes)
{
	int sent = 0;
	must(mailbox->is_router == (to != NULL));
	/* Not left to ZMQ_IMMEDIATE: with it, the socket throws away what it has received, unread, as soon as
	 * it learns that the connection ended; and what arrived before the end must still be read. */
	if (!to && !mailbox->link_is_up) return ERR_WOULD_BLOCK;
	mailbox->may_wait = true;
	/* A ROUTER reports what is wrong with the peer when it takes the address; the body then goes with it.
	 */
	if (to) sent = send_part(mailbox, to->id, to->size, ZMQ_SNDMORE);
	if (sent >= 0) sent = send_part(mailbox, bytes.at, bytes.size, 0);
	if (sent >= 0 && trace_frames) trace_frame(TRACE_SENT, callee_of(mailbox), to, bytes);
	if (sent >= 0) return OK;
	switch (errno) {
	case EAGAIN:
	case EINTR: return ERR_WOULD_BLOCK;
	case EHOSTUNREACH: return ERR_PEER_GONE;
	default: return ERR_IO;
	}
}

/* Receives one frame into `message`. false when nothing is there. */
static bool recv_part(struct mailbox *mailbox, zmq_msg_t *message)
{
	int got;
	do
		got = zmq_msg_recv(message, mailbox->raw, ZMQ_DONTWAIT);
	while (got < 0 && errno == EINTR);
	mailbox->may_wait = got >= 0;
	return got >= 0;
}

/* Receives the address before a ROUTER's message. `*known` is false for one that did not come from us. */
static bool recv_address(struct mailbox *mailbox, struct peer *from, bool *known)
{
	zmq_msg_t address;
	zmq_msg_init(&address);
	bool   got = recv_part(mailbox, &address);
	size_t size = zmq_msg_size(&address);
	*known = got && size <= sizeof(from->id);
	if (*known) {
		from->size = (uint8_t)size;
		memcpy(from->id, zmq_msg_data(&address), size);
	}
	zmq_msg_close(&address);
	return got;
}

enum err mailbox_recv(struct mailbox *mailbox, struct letter *letter)
{
	zmq_msg_t *body = letter->hold;
	if (!body) {
		body = malloc(sizeof(*body));
		if (!body) return ERR_NO_MEMORY;
		zmq_msg_init(body);
		letter->hold = body;
	}
	letter->bytes = span_of(NULL, 0);
	/* Whatever does not have our shape, one part of at most FRAME_BYTES_MAX, is read to its end and
	 * dropped. */
	for (;;) {
		bool fits = true;
		if (mailbox->is_router && !recv_address(mailbox, &letter->from, &fits))
			return ERR_WOULD_BLOCK;
		if (!recv_part(mailbox, body)) return ERR_WOULD_BLOCK;
		for (; zmq_msg_more(body); fits = false)
			if (!recv_part(mailbox, body)) return ERR_WOULD_BLOCK;
		if (!fits) continue;
		letter->bytes = span_of(zmq_msg_data(body), zmq_msg_size(body));
		if (trace_frames)
			trace_frame(TRACE_RECEIVED, callee_of(mailbox), &letter->from, letter->bytes);
		return OK;
	}
}

void letter_close(struct letter *letter)
{
	if (letter->hold) {
		zmq_msg_close(letter->hold);
		free(letter->hold);
	}
	*letter = (struct letter){0};
}

enum link mailbox_link(struct mailbox *mailbox)
{
	struct {
		uint16_t event;
		uint32_t value;
	} __attribute__((packed)) news;
	must(mailbox->monitor != NULL);
	/* Each report is two parts: the event with its value, and the endpoint, which we know. */
	void *raw = zsock_resolve(mailbox->monitor);
	int   got = zmq_recv(raw, &news, sizeof(news), ZMQ_DONTWAIT);
	if (got < 0) return LINK_SAME;
	char endpoint;
	(void)zmq_recv(raw, &endpoint, sizeof(endpoint), ZMQ_DONTWAIT);
	must(got == sizeof(news));
	mailbox->link_is_up = news.event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
	return mailbox->link_is_up ? LINK_UP : LINK_DOWN;
}
