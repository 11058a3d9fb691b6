#pragma once
#include "http/bearer.h"
#include "http/chunks.h"
#include "http/guard.h"
#include "http/pace.h"
#include "http/connection_table.h"
#include "http/thread.h"

/* One connection between the client and h2o. It reads, checks and collects a request until it is complete, and then shows h2o
 * exactly one request whose head has one reading. h2o sees no body; the handler gets it from here. Early requests wait here
 * for their turn. The connection also enforces timeouts.
 *
 *   HANDSHAKE -> IDLE -> HEAD -> BODY -> WAITING (for a shard) -> ANSWERING -> IDLE …
 *                                                                          '-> CLOSING -> LINGERING
 */
enum connection_state {
	CONNECTION_HANDSHAKE,
	CONNECTION_IDLE,
	CONNECTION_HEAD,
	CONNECTION_BODY,
	CONNECTION_WAITING,
	CONNECTION_ANSWERING,
	CONNECTION_CLOSING,
	CONNECTION_LINGERING
};

struct connection {
	struct http_thread   *thread;
	h2o_socket_t         *socket;
	SSL_CTX              *tls;                  /* a reference; NULL: clear text */
	h2o_socket_cb         h2o_reads, h2o_wrote; /* h2o's callbacks, replaced by ours */
	h2o_linklist_t        all, ready;
	struct table_entry    entry; /* on its listener */
	struct address        peer;  /* counted if `is_counted` */
	enum connection_state state; /* written by connection_turn() only */
	bool                  admin, is_counted;
	bool                  has_served; /* at least one request */
	bool                  is_known; /* a request on it had a valid key; or it is of the admin listener */
	bool                  writing;  /* "100 Continue" is being sent */
	bool                  doomed;   /* no new request is begun, and the connection closes */
	bool                 *gone;     /* set if the connection ends inside a call to h2o */
	mono_us               since;    /* start of the state; BODY: end of the head */
	struct pace           pace;     /* of a body being received or an answer being sent */

	struct bearer bearer; /* of the last request with a key */
	struct head   head;
	struct chunks chunks;
	bool          admitted;    /* the body has a key, whose account's slot is `slot` */
	bool          is_stranger; /* likewise, and no request with that key has succeeded lately */
	uint32_t      slot;
	size_t        body_size; /* received so far, decoded */
	/* of the current request: it is answered without further checks, then the connection closes. The
	 * thread holds the message while the request's handler runs. */
	enum err      refusal;
	bool          is_unread;   /* its head could not be read: h2o has got another */
	struct buffer ahead;       /* bytes after the current request */
	size_t        prefetch_at; /* how many of them have been fed */

	size_t body_charge, prefetch_charge, answer_charge; /* in the thread's sums */
	int    linger_fd;                                   /* -1, or a duplicate that outlives h2o's close */
	size_t lingered;
};

/* Starts a connection just accepted on the public (or `admin`) listener. It owns the socket and ends with it. Errors are not
 * reported: a connection above its address's limit is reset, and one without memory is closed. */
void connection_open(struct http_thread *thread, h2o_socket_t *socket, bool admin);

static inline struct connection *connection_of(h2o_req_t *req)
{
	return req->conn->callbacks->get_socket(req->conn)->on_close.data;
}

/* The whole body of the current request; valid while its handler runs. */
struct span connection_body(const struct connection *connection);

/* The request goes to a shard. The connection stays registered with epoll meanwhile, which saves two system calls. */
void connection_hold(struct connection *connection);

/* An answer of `size` bytes is about to be sent; `persistent` false: it is the connection's last. */
void connection_answering(struct connection *connection, size_t size, bool persistent);

/* h2o has the answer to send. The connection is notified first when writing ends. */
void connection_sending(struct connection *connection);

/* The request is disposed of; `persistent`: another may follow. */
void connection_done(struct connection *connection, bool persistent);

/* Starts requests that follow an answered one; once a turn. True: some may have been answered. */
bool connections_feed(struct http_thread *thread);

/* Closes what takes too long; a few times a second. */
void connections_sweep(struct http_thread *thread, mono_us now);

/* The connection to evict next on the public (or `admin`) listener; NULL: none may be. */
struct connection *connections_first(struct http_thread *thread, bool admin);

/* Evicts it; it is gone within a turn or two. */
void connection_evict(struct connection *connection);

/* Is the body of a request still arriving? */
bool connections_receive(const struct http_thread *thread);

/* Frees the remaining connections after the loop has ended. */
void connections_free(struct http_thread *thread);

/* ---- budget.c ---- */

struct connection_table *connection_table_of(struct connection *connection);
void connection_turn(struct connection *connection, enum connection_state state); /* enters a new state now */
void connection_rank(
    struct connection *connection); /* takes the place in the order of eviction that the state gives */
void connection_doom(
    struct connection *connection); /* the client has gone or must go: drops its waiting requests */
/* Sets the size of the connection's body. False: above BODIES_BYTES_MAX in all; with other bodies of the account, above
 * BODIES_ACCOUNT_BYTES_MAX; or a stranger's, with those of others, above BODIES_STRANGERS_BYTES_MAX. Nothing changed then. A body of
 * up to BODY_SMALL_BYTES is always accepted, a stranger's up to BODIES_SMALL_BYTES_MAX beyond that. */
must_check bool connection_charge_body(struct connection *connection, size_t bytes);
/* The same for the capacity of `ahead`. It counts for no account: the next request may be another's. */
must_check bool connection_charge_ahead(struct connection *connection);
void            connection_drop_ahead(struct connection *connection);
/* Adds `size` bytes of an answer being built. Errors: ERR_OVERLOADED: all answers together would exceed ANSWERS_BYTES_MAX.
 * Answers of up to ANSWER_SMALL_BYTES are always accepted. */
must_check enum err connection_charge_answer(struct connection *connection, size_t size);
void     connection_count_answer(struct connection *connection, size_t size); /* sets its final size */
void     connection_count_more(struct connection *connection, size_t size);   /* adds, whatever others hold */
uint64_t answers_held(const struct service *service);        /* bytes of all answers of all threads */
uint64_t bodies_held(const struct service *service);         /* likewise of all bodies */
void     connection_uncharge(struct connection *connection); /* the request is over */

/* ---- intake.c ---- */

/* h2o has just been given the connection: the next request may arrive. */
void connection_start(struct connection *connection);
