#pragma once
#include "schemas/address.h"
#include "schemas/attempt.h"
#include "schemas/clock.h"
#include "schemas/err.h"

/* Addresses of hosts, from the system's hosts file and name servers, any number of look-ups at once in one thread. The
 * system's files are read as they are when a look-up begins.
 * One epoll descriptor, the caller's, hears for all of it: events whose data has RESOLVER_EVENT set are for
 * resolver_event(). */
struct resolver;
#define RESOLVER_EVENT (UINT64_C(1) << 32)

/* What is known so far. The two families of a name are asked for at once, and each is told when it comes. */
enum { RESOLVED_MAX = 32 };
struct resolved {
	unsigned            count; /* 0: there are none, or nobody said */
	struct address      address[RESOLVED_MAX];
	dur_us              lives; /* how long they hold */
	enum attempt_detail why;   /* there are none */
	bool                is_last;
};
typedef void resolver_answer(void *user, const struct resolved *resolved);

/* `servers`: "IP:PORT,…" in place of the system's, or NULL; `file`: read instead of /etc/resolv.conf, or NULL, and then
 * `port` is asked instead of 53. Both are for tests, and are copied. */
struct resolver_options {
	const char *servers, *file;
	uint16_t    port;
};
/* Errors: ERR_BAD_OPTION, ERR_NO_MEMORY, ERR_IO. */
must_check enum err resolver_open(struct resolver **resolver, int epoll_fd,
                                  const struct resolver_options *options);
/* Open questions are not answered any more. NULL is fine. */
void resolver_close(struct resolver **resolver);

/* `answer` is called once or twice, the last time with `is_last`, perhaps before this returns. `name` is no address.
 * Errors: an empty answer. */
void resolver_ask(struct resolver *resolver, const char *name, resolver_answer *answer, void *user);

void resolver_event(struct resolver *resolver, uint64_t data, uint32_t events);
void resolver_turn(struct resolver *resolver);          /* what is due by time */
bool resolver_is_busy(const struct resolver *resolver); /* then turn every RESOLVER_TURN_MS */
enum { RESOLVER_TURN_MS = 50 };
