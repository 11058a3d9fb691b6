#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/span.h"

#include <string.h>

/* One ZeroMQ socket, owned by one thread. A bound one (ROUTER) talks to many peers, a connected one (DEALER) to one. Sending
 * never blocks. One context a process. The only user of <zmq.h>. */
struct channel;

struct peer {
	uint8_t size;
	uint8_t id[15]; /* the transport's name of a connection, new for every connection */
};
static inline bool peer_same(const struct peer *a, const struct peer *b)
{
	return a->size == b->size && !memcmp(a->id, b->id, a->size);
}

/* A received message; zeroed: none. The bytes live until packet_close() or the next channel_recv() into it. */
struct packet {
	struct peer from; /* ROUTER only */
	struct span bytes;
	void       *hold; /* the transport's */
};

/* libzmq ends its process when the system refuses it a thread, an eventfd, an epoll instance or a descriptor. NULL: it would get
 * them; else the one that is refused, in words, and errno. Tries each. The first channel tries them too. */
const char *channel_lack(void);
/* What the first channel lacked when it was opened last; NULL: nothing. */
const char *channel_lacked(int *error);

/* Errors: ERR_IO (the endpoint cannot be used, or something is lacking; see errno), ERR_NO_MEMORY. */
must_check enum err channel_bind(struct channel **channel, const char *endpoint);
must_check enum err channel_connect(struct channel **channel, const char *endpoint);
void                channel_close(struct channel **channel);
/* After the file of a bound channel's endpoint was removed: listens there on another socket as well. Connections stay. Each
 * call costs a descriptor until channel_close(). Errors: ERR_IO (see errno). */
must_check enum err channel_bind_again(struct channel *channel, const char *endpoint);

/* For epoll; do not read or close it. It becomes readable when something MAY have changed, and only then: after every turn
 * call channel_recv() until ERR_WOULD_BLOCK, or keep the loop from sleeping. channel_send() may consume a wake-up: a turn that
 * sends after it has received must call channel_has_news() before it sleeps. That costs nothing if nothing was sent since the
 * channel was empty. */
int channel_fd(const struct channel *channel);
/* Is there something to receive? Also checks the connections. */
bool channel_waiting(struct channel *channel);
bool channel_has_news(struct channel *channel); /* is there something without a wake-up? */

/* A connected channel sends only while the last result of channel_link() is LINK_UP. Messages that it accepted and could not
 * pass on before the connection ended may still reach the next listener, so a receiver must check session and epoch. Errors:
 * ERR_WOULD_BLOCK (no room, or not connected), ERR_PEER_GONE (ROUTER: that connection ended). */
must_check enum err channel_send(struct channel *channel, const struct peer *to, struct span bytes);
/* Errors: ERR_WOULD_BLOCK (nothing there), ERR_NO_MEMORY. */
must_check enum err channel_recv(struct channel *channel, struct packet *packet);
void                packet_close(struct packet *packet);

/* The next change of a DEALER's connection, from the socket's monitor, oldest first; LINK_SAME: none. channel_link_fd() is the
 * monitor's descriptor for epoll, with the same rule. */
enum link { LINK_SAME, LINK_UP, LINK_DOWN };
enum link channel_link(struct channel *channel);
int       channel_link_fd(const struct channel *channel);
