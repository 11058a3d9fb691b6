#pragma once
#include "schemas/address.h"
#include "schemas/err.h"

#include <stdbool.h>

/* How many connections each client address has, over all threads; any thread may call. */
struct peers;

/* Errors: ERR_NO_MEMORY. */
must_check enum err peers_open(struct peers **peers);
void                peers_free(struct peers **peers);

/* The key by which a client is counted: its IPv4 address, or the /64 of its IPv6 address, since a household has at least one
 * /64. False: not an internet address. */
bool peer_of(const struct sockaddr *socket_address, struct address *peer);

/* Adds a connection, up to `max`, which may differ from call to call; removes one. False: the limit is reached or memory is
 * out; it is not counted. */
must_check bool peers_enter(struct peers *peers, const struct address *peer, unsigned max);
void            peers_leave(struct peers *peers, const struct address *peer);
