#pragma once
#include "actors/rpc/rpc.h"
#include "actors/rt/datadir.h"
#include "actors/rt/options.h"
#include "actors/rt/settings.h"
#include "actors/rt/time.h"
#include "actors/rt/token.h"
#include "schemas/arguments.h"
#include "http/metrics.h"
#include "http/connection_table.h"
#include "schemas/limits.h"

#include <h2o.h>
#include <pthread.h>
#include <semaphore.h>

/* What may change while threads serve. The main thread makes one of each settings that come and publishes it; a thread takes
 * the newest at the beginning of its turn, and goes by that until the turn's end. An older one is freed when all have taken a
 * newer. Connections hold the TLS context that they began with. */
struct live {
	struct settings    settings;
	SSL_CTX           *tls;                /* NULL: in clear */
	struct access_log *access;             /* the service's; NULL: none */
	int64_t            certificate_ends_s; /* seconds of the wall's clock */
};

/* The whole HTTP process: written before the threads start, read-only after, but for `live`, the two flags and
 * `body_bytes`. */
struct service {
	const struct options  *options; /* as at the start: what may change is in `live` */
	_Atomic(struct live *) live;
	const struct datadir  *datadir;
	uint32_t               shards;
	struct token_keys      tokens; /* read download links, and nothing else */
	unsigned               thread_count;
	unsigned               connections_max; /* per thread */
	struct peers          *peers;
	h2o_globalconf_t       config;
	h2o_hostconf_t        *public_hosts[2], *admin_hosts[2]; /* NULL-terminated, as h2o wants them */
	struct http_thread    *threads;
	struct access_log     *access;   /* the main thread's, which hands it on in `live`; NULL: none */
	struct buffer          document; /* what the interface is: see openapi.h */
	_Atomic uint64_t
	            body_bytes[SLOT_COUNT]; /* held as of now, by the account's slot; all threads write */
	atomic_bool stopping, failed;
	sem_t       ended; /* posted by each thread that has answered all and closed what it had */
};

/* One descriptor of a session, watched by h2o's loop. */
struct waker {
	h2o_socket_t *socket;
	struct rpc   *rpc;
	enum rpc_wake what;
};

/* One loop, its connections and its sessions with every shard. Nothing in it is touched by another thread but
 * `metrics` and `has_room`. */
struct http_thread {
	struct service *service;
	unsigned        index;
	pthread_t       id;
	int             listen_fd, admin_fd; /* its own; the latter -1 but on thread 0 */

	const struct live           *live;    /* of this turn */
	_Atomic(const struct live *) goes_by; /* the same, for the main thread to see */

	h2o_context_t           context;
	h2o_accept_ctx_t        accept_public, accept_admin;
	h2o_socket_t           *listener, *admin_listener; /* the latter on thread 0 only */
	struct connection_table table, admin_table;
	atomic_bool             has_room;       /* for another connection, with nobody giving way */
	mono_us                 accept_again;   /* descriptors ran out: not before this */
	mono_us                 accept_told;    /* when they last had */
	mono_us                 accept_evicted; /* when a connection last gave way for that */
	h2o_linklist_t          connections;    /* all connections, see connection.h */
	h2o_linklist_t          ready;          /* those whose next request may be looked at */
	mono_us                 swept;          /* when it was last seen which take too long */

	int           wake_fd; /* an eventfd of the main thread's; -1: none */
	h2o_socket_t *wake;    /* the loop's view of it */

	struct rpc  *rpcs[SHARDS_MAX];
	struct waker wakers[SHARDS_MAX * 2]; /* the loop's view of the sessions' descriptors */
	unsigned     answered;               /* replies taken in, ever: to see whether a pump brought any */

	mono_us  now; /* of this turn */
	bool     now_is_known;
	mono_us  last_request;
	unsigned in_flight; /* requests begun and not yet disposed of */
	uint64_t id_base, id_count;

	/* Reused by every request. */
	struct arguments_memory memory;
	struct buffer           body;
	struct refusal          refusal; /* why a connection refused the request at hand */
	struct metrics          metrics;
};

/* A call that is under way; embedded first in whatever waits for it. */
struct pending {
	void (*on_reply)(struct pending *pending, const struct reply *reply);
	struct http_thread *thread;
	struct rpc         *rpc;
	uint64_t            id;
	bool                outstanding;
};

/* The thread's main function; `argument` is its struct http_thread. Sets service->failed when it cannot
 * start. It never returns: it posts service->ended, and its struct http_thread stays. */
void *thread_main(void *argument);

/* The main thread has news for all: each looks at `stopping` and `live` now. */
void threads_wake(struct service *service);

/* Does every thread reach every shard, as of its last turn? Any thread may ask. */
bool service_reaches_shards(const struct service *service);

/* The options as of this turn, for what may change while the service runs. */
static inline const struct options *thread_options(const struct http_thread *thread)
{
	return &thread->live->settings.options;
}

/* The turn's time. Read once a turn, and only in turns that ask for it. */
static inline mono_us thread_now(struct http_thread *thread)
{
	if (!thread->now_is_known) thread->now = time_mono();
	thread->now_is_known = true;
	return thread->now;
}

/* Begins a message to a shard: `head` says what and for whom (its deadline too). On OK the caller appends the array of
 * arguments to *arguments and calls pending_send(), upon which pending->on_reply will be called, never from within; or it calls
 * pending_abort(). No other call may begin between. Errors: those of rpc_begin(). */
must_check enum err thread_call(struct http_thread *thread, struct pending *pending, uint32_t shard,
                                struct call *head, struct buffer **arguments);
void                pending_send(struct pending *pending);
void                pending_abort(struct pending *pending);

/* The rest of the answer is waited for until `end`. Any pending is fine. */
void pending_extend(struct pending *pending, mono_us end);

/* Whoever waited no longer does. Any pending is fine. */
void pending_forget(struct pending *pending);

static inline struct http_thread *thread_of(h2o_req_t *req)
{
	return H2O_STRUCT_FROM_MEMBER(struct http_thread, context, req->conn->ctx);
}
