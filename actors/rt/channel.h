#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/span.h"

/* One ZeroMQ socket, owned by one thread. A bound one (ROUTER) speaks to many peers, a connected one (DEALER)
 * to one. Sending never blocks. One context a process. The only user of <czmq.h>. */
struct channel;

struct peer {
	uint8_t size;
	uint8_t id[15]; /* the transport's name for a connection: new for every connection */
};

/* A received message. Zeroed is none. packet_close() or the next channel_recv() into it ends the bytes' life. */
struct packet {
	struct peer from; /* ROUTER only */
	struct span bytes;
	void       *hold; /* the transport's */
};

/* Errors: ERR_IO (the endpoint cannot be used), ERR_NO_MEMORY. */
must_check enum err channel_bind(struct channel **channel, const char *endpoint);
must_check enum err channel_connect(struct channel **channel, const char *endpoint);
void                channel_close(struct channel **channel);

/* For epoll: it becomes readable when something MAY have changed, and only then: after every turn call
 * channel_recv() until ERR_WOULD_BLOCK (or keep the loop from sleeping). Not to be read or closed.
 * A channel_send() may swallow the wake-up for what arrives meanwhile: a turn that sends after it has received asks
 * channel_has_news() before it sleeps: where nothing was sent since it was found empty that is no, and costs nothing. */
int  channel_fd(const struct channel *channel);
bool channel_waiting(
    struct channel *channel); /* is there something to receive? A look at the connections too */
bool channel_has_news(struct channel *channel); /* is there something that no wake-up will tell of? */

/* A connected channel sends only while channel_link() has said LINK_UP last. What it took and could not pass
 * on before the connection ended may still reach whoever listens next: a receiver goes by session and epoch.
 * Errors: ERR_WOULD_BLOCK (no room, or nobody connected), ERR_PEER_GONE (ROUTER: that connection ended). */
must_check enum err channel_send(struct channel *channel, const struct peer *to, struct span bytes);
/* Errors: ERR_WOULD_BLOCK (nothing there), ERR_NO_MEMORY. */
must_check enum err channel_recv(struct channel *channel, struct packet *packet);
void                packet_close(struct packet *packet);

/* What became of the connection of a DEALER since the last call, from the socket's monitor; oldest first.
 * LINK_SAME when nothing did. channel_link_fd() is the monitor's descriptor for epoll, with the same rule. */
enum link { LINK_SAME, LINK_UP, LINK_DOWN };
enum link channel_link(struct channel *channel);
int       channel_link_fd(const struct channel *channel);
