#pragma once
#include "schemas/address.h"
#include "schemas/clock.h"
#include "schemas/err.h"

/* Addresses of hosts, from the system's hosts file and name servers, any number of look-ups at once in one thread.
 * One epoll descriptor, the caller's, hears for all of it: events whose data has RESOLVER_EVENT set are for
 * resolver_event(). */
struct resolver;
#define RESOLVER_EVENT (UINT64_C(1) << 32)

enum { RESOLVED_MAX = 8 };
struct resolved {
	unsigned       count; /* 0: there are none, or nobody said */
	struct address address[RESOLVED_MAX];
	dur_us         lives; /* how long they hold */
};
typedef void resolver_answer(void *user, const struct resolved *resolved);

/* `servers`: "IP:PORT,…" in place of the system's, or NULL. Errors: ERR_BAD_OPTION, ERR_NO_MEMORY, ERR_IO. */
must_check enum err resolver_open(struct resolver **resolver, int epoll_fd, const char *servers);
/* Open questions are not answered any more. NULL is fine. */
void resolver_close(struct resolver **resolver);

/* `answer` is called exactly once, perhaps before this returns. `name` is no address. Errors: an empty answer. */
void resolver_ask(struct resolver *resolver, const char *name, resolver_answer *answer, void *user);

void resolver_event(struct resolver *resolver, uint64_t data, uint32_t events);
void resolver_turn(struct resolver *resolver, mono_us now); /* what is due by time */
bool resolver_is_busy(const struct resolver *resolver);     /* then turn every RESOLVER_TURN_MS */
enum { RESOLVER_TURN_MS = 50 };
