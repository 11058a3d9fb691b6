#pragma once
#include "schemas/address.h"
#include "schemas/attempt.h"
#include "schemas/clock.h"
#include "schemas/err.h"

/* Looks up addresses in the system's hosts file and at its name servers, any number at once in one thread. The system's files
 * are read as they are when a look-up begins. Uses the caller's epoll descriptor: pass events whose data has RESOLVER_EVENT
 * set to resolver_event(). */
struct resolver;
#define RESOLVER_EVENT (UINT64_C(1) << 32)

/* What is known so far. Both families of a name are queried at once, and each is reported when it arrives. */
enum { RESOLVED_MAX = 32 };
struct resolved {
	unsigned            count; /* 0: there are none, or no server answered */
	struct address      address[RESOLVED_MAX];
	dur_us              lives; /* how long they are valid */
	enum attempt_detail why;   /* why there are none */
	bool                is_last;
};
typedef void resolver_answer(void *user, const struct resolved *resolved);

/* For tests; copied. `servers`: "IP:PORT,…" instead of the system's, or NULL. `file`: instead of /etc/resolv.conf, or NULL;
 * with it `port` replaces 53. */
struct resolver_options {
	const char *servers, *file;
	uint16_t    port;
};
/* Errors: ERR_BAD_OPTION, ERR_NO_MEMORY, ERR_IO. */
must_check enum err resolver_open(struct resolver **resolver, int epoll_fd,
                                  const struct resolver_options *options);
/* Open look-ups are not answered. NULL is fine. */
void resolver_close(struct resolver **resolver);

/* Calls `answer` once or twice, the last time with `is_last`, perhaps before it returns. `name` is not an address. Errors: an
 * empty answer. `owner`, an account's slot: each may use TCP for a few look-ups at once. */
void resolver_ask(struct resolver *resolver, uint32_t owner, const char *name, resolver_answer *answer,
                  void *user);

void resolver_event(struct resolver *resolver, uint64_t data, uint32_t events);
void resolver_turn(struct resolver *resolver);          /* handles timeouts */
bool resolver_is_busy(const struct resolver *resolver); /* if so, turn every RESOLVER_TURN_MS */
enum { RESOLVER_TURN_MS = 50 };
