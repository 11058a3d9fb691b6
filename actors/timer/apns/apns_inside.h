#pragma once
#include "actors/timer/apns/apns.h"
#include "actors/timer/apns/provider_token.h"

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

/* Shared by the files of apns, and by no others.
 *
 *   push ─▶ line: waiting ─▶ connection: open ─▶ on_done
 *             └▶ dialling ─▶ connection
 *
 * Nothing is freed while events are processed: a dead dialling or connection is freed at the end of the turn. */

/* What epoll's events are for. */
struct source {
	void (*on_event)(struct source *source, uint32_t events);
};
#define SOURCE_EVENT (UINT64_C(1) << 63) /* marks a pointer to a source; checked before RESOLVER_EVENT */

TAILQ_HEAD(pushes, apns_push);

/* An address that is tried; fd -1: it failed, or must not be dialled. */
struct apns_runner {
	struct source    source;
	struct dialling *dialling;
	struct address   address;
	int              fd;
};

/* The addresses of the host are tried a quarter of a second apart; the first that connects is used. */
struct dialling {
	TAILQ_ENTRY(dialling) link;
	struct apns_line  *line; /* NULL: it is over */
	struct apns_runner runners[RESOLVED_MAX];
	unsigned           count, open;
	mono_us            next_at, due;
	bool               is_forbidden; /* an address was not allowed */
	int                error;        /* errno of the last failure; 0: none */
};

enum connection_state {
	CONNECTION_SHAKES_HANDS,
	CONNECTION_GREETS, /* Apple's SETTINGS are awaited */
	CONNECTION_UP,
	CONNECTION_DEAD
};

enum { OUT_BYTES = 16384 }; /* of one TLS record */

struct connection {
	struct source source;
	TAILQ_ENTRY(connection) of_line, of_all;
	struct apns          *apns;
	struct apns_line     *line;
	int                   fd;
	SSL                  *ssl;
	nghttp2_session      *session;
	enum connection_state state;
	bool                  is_draining; /* gets no more pushes */
	bool                  is_proven;   /* a push was answered with 200 */
	bool                  is_ready;    /* there may be something to read */
	bool                  wants_out;   /* epoll is asked for it */
	struct pushes         open;
	unsigned              open_count;
	mono_us               began, heard, answered, used,
	    pinged;                       /* answered: a push, 0: none; pinged 0: no ping is under way */
	char    reason[PUSH_REASON_TEXT]; /* why it has failed */
	bool    is_refused;               /* it has: Apple does not take the credential */
	uint8_t out[OUT_BYTES];
	size_t  out_size;
};
TAILQ_HEAD(connections, connection);

struct apns_line {
	LIST_ENTRY(apns_line) in_bucket;
	TAILQ_ENTRY(apns_line) by_use, in_waiting;
	struct apns     *apns;
	struct apns_name name;
	struct buffer    texts; /* what the spans point into */
	struct span      pass_type, team, key_id;
	X509            *certificate, *issuer;
	EVP_PKEY        *key, *p8; /* p8 NULL: the certificate is shown */

	struct pushes      waiting;
	unsigned           waiting_count;
	struct connections connections;
	struct dialling   *dialling; /* NULL: none */
	mono_us            used;

	/* Trouble: what came of the last connection. */
	dur_us  wait; /* between two diallings; 0: the last one was good */
	mono_us dial_at;
	bool    is_refused; /* Apple does not take the credential */
	char    reason[PUSH_REASON_TEXT];
};
TAILQ_HEAD(lines, apns_line);
LIST_HEAD(line_bucket, apns_line);
enum { LINE_BUCKETS = 1024 };

struct apns {
	struct apns_options     options;
	char                    host[256];
	char                    authority[256 + 8];
	bool                    is_address;
	int                     epoll_fd;
	SSL_CTX                *tls;
	struct resolver        *resolver;
	struct provider_tokens *tokens;
	mono_us                 now; /* of this turn */

	/* What is known of the host. */
	bool           is_looked_up, is_heard; /* is_looked_up: now */
	mono_us        asked_at, known_until;
	unsigned       address_count;
	struct address address[RESOLVED_MAX];

	struct line_bucket buckets[LINE_BUCKETS];
	struct lines       lines;   /* the one used longest ago in front */
	struct lines       waiting; /* those with something waiting */
	unsigned           line_count;
	struct connections connections, dead_connections;
	unsigned           connection_count;
	TAILQ_HEAD(diallings, dialling) diallings, dead_diallings;
	struct pushes ages; /* of all lines, oldest first */
	bool          has_news;
	bool          is_failing; /* what was logged last */
};

/* ---- source.c ---- */

/* Watches a descriptor. False: no memory. */
bool source_watch(struct apns *apns, struct source *source, int fd, uint32_t events);

/* ---- line.c ---- */

void line_free(struct apns_line *line);          /* an idle one */
bool line_is_idle(const struct apns_line *line); /* has neither pushes nor connections nor a dialling */
/* Its connections that take pushes. */
unsigned line_connections(const struct apns_line *line);
/* A connection was not made, or broke before an answer. Ends what waits, unless another connection serves it. */
void line_failed(struct apns_line *line, bool is_refused, const char *reason);
/* Nothing is sent for PROVIDER_TOKEN_REST_S. */
void line_rest(struct apns_line *line, const char *reason);
/* Ends all that waits. */
void line_give_up(struct apns_line *line, enum apns_fate fate, const char *reason);

/* Ends a push. `reason` may be "". */
void push_end(struct apns_push *push, enum apns_fate fate, const char *reason);
void push_judged(struct apns_push *push, const struct apns_answer *answer);
/* Takes it from the list that it is in: of its connection, or of its line. */
void push_leave(struct apns_push *push);
/* Puts an open push back in front of its line. */
void push_again(struct apns_push *push);

/* ---- session.c ---- */

/* HTTP/2 on a connection. Errors: ERR_NO_MEMORY. */
must_check enum err session_begin(struct connection *connection);
/* Sends a push. Errors: false: it could not, and is as it was. */
bool session_push(struct connection *connection, struct apns_push *push);
/* The peer need not answer it any more. */
void session_cancel(struct apns_push *push);
/* It has failed: it ends when it is written. The first reason stays. */
void connection_fail(struct connection *connection, const char *reason);

/* ---- connection.c ---- */

/* Takes a connected socket. Errors: ERR_NO_MEMORY, and the socket is closed. */
must_check enum err connection_begin(struct apns_line *line, int fd);
/* How many more pushes it takes now. */
unsigned connection_room(const struct connection *connection);
/* Twice a turn: reads what has come and looks at the time; then writes, and ends it if it has failed or is over. */
void connection_read(struct connection *connection);
void connection_write(struct connection *connection);
/* Ends it, and all of its pushes with APNS_AGAIN. */
void connection_end(struct connection *connection);
void connection_free(struct connection *connection); /* a dead one */

/* ---- dialling.c ---- */

must_check enum err dialling_begin(struct apns_line *line);
void                dialling_turn(struct dialling *dialling);
void                dialling_end(struct dialling *dialling);
mono_us             dialling_due(const struct dialling *dialling);

/* ---- serve.c ---- */

/* Sends what waits, dials if need be, and ends what cannot be sent. */
void line_serve(struct apns_line *line);
