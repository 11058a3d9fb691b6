/* One table for all threads, under a lock: it is used twice in a connection's life. It counts even without a limit, so that a
 * limit set by a reload includes open connections. The hash is keyed, since a client with an IPv6 network can choose among
 * very many addresses. */
#include "http/peers.h"
#include "schemas/keyed_hash.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 4096, IPV6_NETWORK_BYTES = 8 };

struct entry {
	struct entry  *next;
	struct address peer;
	unsigned       count; /* 1 or more */
};

struct peers {
	pthread_mutex_t lock;
	struct entry   *lines[LINES];
};

enum err peers_open(struct peers **peers)
{
	*peers = NULL;
	struct peers *made = calloc(1, sizeof *made);
	if (!made || pthread_mutex_init(&made->lock, NULL)) {
		free(made);
		return ERR_NO_MEMORY;
	}
	*peers = made;
	return OK;
}

void peers_free(struct peers **peers)
{
	struct peers *gone = *peers;
	*peers = NULL;
	if (!gone) return;
	for (unsigned i = 0; i < LINES; i++)
		for (struct entry *entry = gone->lines[i], *next; entry; entry = next) {
			next = entry->next;
			free(entry);
		}
	pthread_mutex_destroy(&gone->lock);
	free(gone);
}

bool peer_of(const struct sockaddr *socket_address, struct address *peer)
{
	struct sockaddr_in6  plain;
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	if (socket_address->sa_family == AF_INET6) {
		/* The scope of a link-local address is ignored. */
		memcpy(&plain, socket_address, sizeof plain);
		plain.sin6_scope_id = 0;
		socket_address = (const struct sockaddr *)&plain;
	}
	if (!address_of(socket_address, peer)) return false;
	if (memcmp(peer->byte, mapped, sizeof mapped) == 0) return true;
	memset(peer->byte + IPV6_NETWORK_BYTES, 0, sizeof peer->byte - IPV6_NETWORK_BYTES);
	return true;
}

/* The link to the peer's entry, or where it would be. */
static struct entry **place_of(struct peers *peers, const struct address *peer)
{
	uint64_t       hash = keyed_hash(span_of(peer->byte, sizeof peer->byte));
	struct entry **at = &peers->lines[hash % LINES];
	while (*at && memcmp((*at)->peer.byte, peer->byte, sizeof peer->byte) != 0)
		at = &(*at)->next;
	return at;
}

bool peers_enter(struct peers *peers, const struct address *peer, unsigned max)
{
	pthread_mutex_lock(&peers->lock);
	struct entry **at = place_of(peers, peer);
	if (!*at && (*at = calloc(1, sizeof **at))) (*at)->peer = *peer;
	bool may = *at && (*at)->count < max;
	if (may) (*at)->count++;
	pthread_mutex_unlock(&peers->lock);
	return may;
}

void peers_leave(struct peers *peers, const struct address *peer)
{
	pthread_mutex_lock(&peers->lock);
	struct entry **at = place_of(peers, peer), *entry = *at;
	must(entry && entry->count > 0);
	if (--entry->count == 0) {
		*at = entry->next;
		free(entry);
	}
	pthread_mutex_unlock(&peers->lock);
}
