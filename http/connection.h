#pragma once
#include "http/bearer.h"
#include "http/chunks.h"
#include "http/guard.h"
#include "http/pace.h"
#include "http/connection_table.h"
#include "http/thread.h"

/* One connection between the client and h2o. It reads, guards and gathers a request until that is whole, and only then
 * lets h2o see it: exactly one, whose head can be read in one way. h2o is told of no body; the handler gets that from
 * here. What came too early waits here for its turn. It also knows how long everything takes.
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
	SSL_CTX              *tls;                  /* a reference; NULL: in clear */
	h2o_socket_cb         h2o_reads, h2o_wrote; /* h2o's own callbacks, in whose place ours stand */
	h2o_linklist_t        all, ready;
	struct table_entry    entry; /* on its listener */
	struct address        peer;  /* counted, if `is_counted` */
	enum connection_state state; /* connection_turn() writes it */
	bool                  admin, is_counted;
	bool                  has_served; /* a request, at least */
	bool                  writing;    /* "100 Continue" is on its way */
	bool                  doomed;     /* nothing more is begun, and the connection closes */
	bool                 *gone;       /* set when the connection ends while h2o is called */
	mono_us               since;      /* the state, or (BODY) the head's end */
	struct pace           pace;       /* of a body coming in, of an answer going out */

	struct bearer bearer; /* of the last request that showed a key */
	struct head   head;
	struct chunks chunks;
	bool          admitted; /* the body: there is a key, whose account's slot is `slot` */
	uint32_t      slot;
	size_t        body_size; /* come so far, decoded */
	enum err
	    refusal; /* of the request at hand: to be answered without a further look, then closed; its sentence
	                      * lies with the thread, while the request's handler runs */
	struct buffer ahead;       /* bytes behind the request at hand */
	size_t        prefetch_at; /* of which so many have been fed */

	size_t body_charge, prefetch_charge, answer_charge; /* in the thread's sums */
	int    linger_fd; /* -1, or the connection once more, to outlive h2o's closing it */
	size_t lingered;
};

/* A connection just accepted on the public (or `admin`) listener. The connection owns the socket; it ends with it.
 * Errors: none that the caller hears; one beyond what its address may have is reset, and without memory the connection is
 * closed. */
void connection_open(struct http_thread *thread, h2o_socket_t *socket, bool admin);

static inline struct connection *connection_of(h2o_req_t *req)
{
	return req->conn->callbacks->get_socket(req->conn)->on_close.data;
}

/* The body of the request at hand, whole; valid while its handler runs. */
struct span connection_body(const struct connection *connection);

/* The request goes to a shard: the connection stays with the poller meanwhile, which saves two system calls. */
void connection_hold(struct connection *connection);

/* An answer of `size` bytes is about to be sent; not `persistent`: it is the connection's last. */
void connection_answering(struct connection *connection, size_t size, bool persistent);

/* The answer has been given to h2o to send: how that goes, the connection hears first. */
void connection_sending(struct connection *connection);

/* The request is disposed of; `persistent`: another may follow. */
void connection_done(struct connection *connection, bool persistent);

/* Lets the requests in that follow an answered one; once a turn. true: some may have been answered. */
bool connections_feed(struct http_thread *thread);

/* Closes what takes too long; a few times a second. */
void connections_sweep(struct http_thread *thread, mono_us now);

/* The connection that is first to give way on the public (or `admin`) listener; NULL: none may. */
struct connection *connections_first(struct http_thread *thread, bool admin);

/* Makes it give way: it is told to leave, and gone within a turn or two. */
void connection_evict(struct connection *connection);

/* Is the body of a request still coming? */
bool connections_receive(const struct http_thread *thread);

/* Frees what is left when the loop has ended. */
void connections_free(struct http_thread *thread);

/* ---- budget.c ---- */

struct connection_table *connection_table_of(struct connection *connection);
void connection_turn(struct connection *connection, enum connection_state state); /* a new state, as of now */
void connection_doom(struct connection *connection); /* the client is gone, or is to go: forgets what waits */
/* The connection's body is of so many bytes now. false: that is beyond BODIES_BYTES_MAX in all or, beside other bodies of the
 * account, BODIES_ACCOUNT_BYTES_MAX; nothing has changed then. */
must_check bool connection_charge_body(struct connection *connection, size_t bytes);
/* The same for what `ahead` has room for; it goes to no account, since the next request may be another's. */
must_check bool connection_charge_ahead(struct connection *connection);
void            connection_drop_ahead(struct connection *connection);
/* Counts `size` bytes of an answer that is being put together. Errors: ERR_OVERLOADED: all answers together would be
 * beyond ANSWERS_BYTES_MAX (an answer of up to ANSWER_SMALL_BYTES is always taken). */
must_check enum err connection_charge_answer(struct connection *connection, size_t size);
void connection_count_answer(struct connection *connection, size_t size); /* it is of that size in the end */
uint64_t answers_held(const struct service *service);        /* bytes of all answers, of all threads */
void     connection_uncharge(struct connection *connection); /* the request is over */

/* ---- intake.c ---- */

void connection_start(
    struct connection *connection); /* h2o has just been given the connection: the next request may come */
