#pragma once
#include "http/bearer.h"
#include "http/chunks.h"
#include "http/guard.h"
#include "http/pace.h"
#include "http/places.h"
#include "http/thread.h"

/* One connection between the client and h2o. It reads, guards and gathers a request until that is whole, and only then
 * lets h2o see it: exactly one, whose head can be read in one way. h2o is told of no body; the handler gets that from
 * here. What came too early waits here for its turn. It also knows how long everything takes.
 *
 *   HANDSHAKE -> IDLE -> HEAD -> BODY -> WAITING (for a shard) -> ANSWERING -> IDLE …
 *                                                                          '-> CLOSING -> LINGERING
 */
enum gate_state {
	GATE_HANDSHAKE,
	GATE_IDLE,
	GATE_HEAD,
	GATE_BODY,
	GATE_WAITING,
	GATE_ANSWERING,
	GATE_CLOSING,
	GATE_LINGERING
};

struct gate {
	struct http_thread *thread;
	h2o_socket_t       *socket;
	h2o_socket_cb       h2o_reads, h2o_wrote; /* h2o's own callbacks, in whose place ours stand */
	h2o_linklist_t      all, ready;
	struct place        place; /* on its listener */
	struct address      peer;  /* counted, if `is_counted` */
	enum gate_state     state; /* gate_turn() writes it */
	bool                admin, is_counted;
	bool                has_served; /* a request, at least */
	bool                writing;    /* "100 Continue" is on its way */
	bool                doomed;     /* nothing more is begun, and the connection closes */
	bool               *gone;       /* set when the gate ends while h2o is called */
	mono_us             since;      /* the state, or (BODY) the head's end */
	struct pace         pace;       /* of a body coming in, of an answer going out */

	struct bearer bearer; /* of the last request that showed a key */
	struct head   head;
	struct chunks chunks;
	bool          admitted; /* the body: there is a key, whose account's slot is `slot` */
	uint32_t      slot;
	size_t        body_size; /* come so far, decoded */
	enum err
	    refusal; /* of the request at hand: to be answered without a further look, then closed; its sentence
	                      * lies with the thread, while the request's handler runs */
	struct buffer ahead;    /* bytes behind the request at hand */
	size_t        ahead_at; /* of which so many have been fed */

	size_t body_charge, ahead_charge, answer_charge; /* in the thread's sums */
	int    linger_fd; /* -1, or the connection once more, to outlive h2o's closing it */
	size_t lingered;
};

/* A connection just accepted on the public (or `admin`) listener. The gate owns the socket; it ends with it.
 * Errors: none that the caller hears; one beyond what its address may have is reset, and without memory the connection is
 * closed. */
void gate_open(struct http_thread *thread, h2o_socket_t *socket, bool admin);

static inline struct gate *gate_of(h2o_req_t *req)
{
	return req->conn->callbacks->get_socket(req->conn)->on_close.data;
}

/* The body of the request at hand, whole; valid while its handler runs. */
struct span gate_body(const struct gate *gate);

/* The request goes to a shard: the connection stays with the poller meanwhile, which saves two system calls. */
void gate_hold(struct gate *gate);

/* An answer of `size` bytes is about to be sent; not `persistent`: it is the connection's last. */
void gate_answering(struct gate *gate, size_t size, bool persistent);

/* The answer has been given to h2o to send: how that goes, the gate hears first. */
void gate_sending(struct gate *gate);

/* The request is disposed of; `persistent`: another may follow. */
void gate_done(struct gate *gate, bool persistent);

/* Counts `size` bytes of an answer that is being put together. Errors: ERR_OVERLOADED: all answers together would be
 * beyond ANSWERS_BYTES_MAX (an answer of up to ANSWER_SMALL_BYTES is always taken). */
must_check enum err gate_charge_answer(struct gate *gate, size_t size);

/* Lets the requests in that follow an answered one; once a turn. true: some may have been answered. */
bool gates_feed(struct http_thread *thread);

/* Closes what takes too long; a few times a second. */
void gates_sweep(struct http_thread *thread, mono_us now);

/* The connection that is first to give way on the public (or `admin`) listener; NULL: none may. */
struct gate *gates_first(struct http_thread *thread, bool admin);

/* Makes it give way: it is told to leave, and gone within a turn or two. */
void gate_evict(struct gate *gate);

/* Is the body of a request still coming? */
bool gates_receive(const struct http_thread *thread);

/* Frees what is left when the loop has ended. */
void gates_free(struct http_thread *thread);

/* Between gate.c and gates.c. */
void gate_turn(struct gate *gate, enum gate_state state); /* a new state, as of now */
void gate_start(struct gate *gate);                       /* h2o has just been given the connection */
void gate_end(struct gate *gate);                         /* the socket is gone */
void gate_linger(struct gate *gate);                      /* keeps the connection beyond h2o's closing it */
void gate_doom(struct gate *gate); /* the client is gone, or is to go: forgets what waits */
/* The gate's body is of so many bytes now. false: that is beyond BODIES_BYTES_MAX in all or, beside other bodies of the
 * account, BODIES_ACCOUNT_BYTES_MAX; nothing has changed then. */
must_check bool gate_charge_body(struct gate *gate, size_t bytes);
/* The same for what `ahead` has room for; it goes to no account, since the next request may be another's. */
must_check bool gate_charge_ahead(struct gate *gate);
void            gate_drop_ahead(struct gate *gate);
