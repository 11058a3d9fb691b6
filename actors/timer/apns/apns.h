#pragma once
#include "actors/timer/apns/answer.h"
#include "actors/timer/resolver.h"
#include "actors/timer/trust.h"
#include "schemas/address.h"
#include "schemas/ids.h"

#include <sys/queue.h>

/* Pushes to Apple's wallet over HTTP/2, in one thread, on the process's loop: watch apns_fd(), call apns_turn(). Each credential
 * has a line of its own: its connection, a second one when many pushes wait, and what waits for them. There are APNS_CONNECTIONS_MAX
 * in all; a line that needs one takes it from the line that has been idle longest. Nothing durable: what is lost with the process is leased
 * again by the shard. Source: Apple, "Sending notification requests to APNs". */
struct apns;
enum {
	APNS_CONNECTIONS_MAX = 64,
	APNS_STREAMS_MAX = 1000, /* of a connection; fewer if Apple says so */
	APNS_PUSH_MS = 10000,    /* from apns_push() to the answer */
	APNS_PATH_BYTES = 10 + 200 + 1,
	APNS_BODY_BYTES = 256, /* kept of an answer */
};

/* `rules` and `trust` are borrowed until apns_close() and may change. */
struct apns_options {
	const struct address_rules *rules;
	struct trust               *trust;
	struct resolver_options     resolver;
	const char                 *host; /* a name or an address */
	uint16_t                    port;
};
/* Errors: ERR_NO_MEMORY, ERR_IO, ERR_BAD_OPTION (of the resolver). */
must_check enum err apns_open(struct apns **apns, const struct apns_options *options);
/* Pushes that have not ended end without `on_done`. NULL is fine. */
void apns_close(struct apns **apns);

int apns_fd(const struct apns *apns); /* readable: call apns_turn() */
/* Does what is due. Returns how long the loop may sleep at most. Calls `on_done`, which may call apns_push(), but not apns_turn()
 * or apns_close(). */
dur_us apns_turn(struct apns *apns, mono_us now);
/* Did a push end in the last turn? */
bool     apns_has_news(const struct apns *apns);
unsigned apns_connections(const struct apns *apns);

/* A credential in one of its generations. */
struct apns_name {
	struct account_id account; /* in whose rows it is */
	uint64_t          number;
	uint32_t          generation;
	wall_us           put;
};
struct apns_credential {
	struct apns_name name;
	struct span      pass_type, team, key_id; /* key_id empty: it has no p8 */
	struct span      certificate, issuer;     /* DER */
	struct span      key, p8;                 /* PKCS #8 in DER */
};
struct apns_line;
/* The line of a credential; NULL: it must be opened. It lives at least until the next turn, and while it has pushes. */
struct apns_line *apns_line(struct apns *apns, const struct apns_name *name);
/* Errors: ERR_DAMAGED: the keys cannot be used; ERR_NO_MEMORY. */
must_check enum err apns_line_open(struct apns *apns, const struct apns_credential *credential,
                                   struct apns_line **line);

/* Ends the pause after connections that failed: the next push dials, and if that fails, the pause is no longer than this one was. It
 * goes on if Apple wants no more provider tokens for now. */
void apns_line_hurry(struct apns_line *line);
/* Has Apple refused the credential when it was dialled last? */
bool apns_line_is_refused(const struct apns_line *line);

/* A push, part of the caller's structure. The caller sets on_done; the rest is of apns. */
struct apns_push {
	void (*on_done)(struct apns_push *push, const struct apns_answer *answer);
	TAILQ_ENTRY(apns_push) in_list, by_age;
	struct apns_line  *line;
	struct connection *connection; /* NULL: it waits */
	int32_t            stream;
	unsigned           repeats;
	mono_us            due, sent; /* sent: last */
	int                status;
	size_t             body_size;
	uint8_t            body[APNS_BODY_BYTES];
	char               path[APNS_PATH_BYTES];
};
/* Queues a push to a phone; never calls back: a turn must follow before the loop sleeps. It ends in exactly one on_done. `token`:
 * hexadecimal digits, at most PUSH_TOKEN_BYTES_MAX. */
void apns_push(struct apns_line *line, struct apns_push *push, struct span token, mono_us now);
