#pragma once
#include "schemas/address.h"
#include "schemas/err.h"

#include <stdbool.h>

/* How many connections each address of clients has, over all threads; any of them may ask. */
struct peers;

/* Errors: ERR_NO_MEMORY. */
must_check enum err peers_open(struct peers **peers);
void                peers_free(struct peers **peers);

/* By what a client is counted: its IPv4 address, or the /64 of its IPv6 address, of which every household has one or
 * more to itself. false: no address of the internet. */
bool peer_of(const struct sockaddr *socket_address, struct address *peer);

/* One more, of `max` at most, which may change from call to call; or one less. Errors: false: it has as many, or memory is out;
 * it is not counted then. */
must_check bool peers_enter(struct peers *peers, const struct address *peer, unsigned max);
void            peers_leave(struct peers *peers, const struct address *peer);
