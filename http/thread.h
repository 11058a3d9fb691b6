#pragma once
#include "actors/rpc/rpc.h"
#include "actors/rt/datadir.h"
#include "actors/rt/options.h"
#include "actors/rt/settings.h"
#include "actors/rt/time.h"
#include "actors/rt/token.h"
#include "schemas/arguments.h"
#include "http/known_keys.h"
#include "http/metrics.h"
#include "http/connection_table.h"
#include "schemas/limits.h"
#include "schemas/wallet/kind.h"
#include "schemas/wallet/serial.h"

#include <h2o.h>
#include <pthread.h>
#include <semaphore.h>

/* Settings that may change while threads serve. The main thread makes one of each new version and publishes it. A thread takes
 * the newest at the start of its turn and uses it until the end. An old one is freed when all threads have taken a newer one.
 * A connection keeps the TLS context that it began with. */
struct live {
	struct settings    settings;
	SSL_CTX           *tls;                /* NULL: clear text */
	struct access_log *access;             /* the service's; NULL: none */
	int64_t            certificate_ends_s; /* seconds of the wall clock */
	char               keep_alive[32];     /* value of the header of that name */
};

/* The whole HTTP process. Written before the threads start. Afterwards threads change only the atomic members,
 * known_keys and ended; peers, kits and access have locks of their own. */
struct service {
	const struct options  *options; /* as at start: changing ones are in `live` */
	_Atomic(struct live *) live;
	const struct datadir  *datadir;
	uint32_t               shards;
	struct token_keys      tokens;  /* only for reading download links */
	struct kits           *kits;    /* of packages for wallets */
	struct serial_keys     serials; /* names of passes in wallets */
	unsigned               thread_count;
	unsigned               connections_max; /* per thread */
	struct peers          *peers;
	h2o_globalconf_t       config;
	h2o_hostconf_t        *public_hosts[2], *admin_hosts[2]; /* NULL-terminated, for h2o */
	struct http_thread    *threads;
	struct access_log     *access;   /* the main thread's; published in `live`; NULL: none */
	struct buffer          document; /* the OpenAPI document: see openapi.h */
	struct buffer          badges[WALLET_KIND_END]; /* by kind: see badges.h */
	atomic_uint wallet_kinds; /* WALLET_BIT: of which somebody here certainly has a credential */
	/* Bytes of bodies held now, by the account's slot, and of those whose key is not known; all threads write. */
	_Atomic uint64_t  body_bytes[SLOT_COUNT], stranger_bytes;
	struct known_keys known_keys;
	atomic_bool       stopping, failed;
	sem_t ended; /* posted by each thread that has answered everything and closed what it had */
};

/* One descriptor of a session, watched by h2o's loop. */
struct waker {
	h2o_socket_t *socket;
	struct rpc   *rpc;
	enum rpc_wake what;
};

/* One loop, its connections and its sessions with every shard. Other threads touch only `metrics`, `has_room` and `goes_by`. */
struct http_thread {
	struct service *service;
	unsigned        index;
	int             listen_fd, admin_fd; /* its own; admin_fd is -1 except on thread 0 */

	const struct live           *live;    /* of this turn */
	_Atomic(const struct live *) goes_by; /* the same, for the main thread */

	h2o_context_t           context;
	h2o_accept_ctx_t        accept_public, accept_admin;
	h2o_socket_t           *listener, *admin_listener; /* the latter on thread 0 only */
	struct connection_table table, admin_table;
	atomic_bool             has_room;       /* for another connection without an eviction */
	mono_us                 accept_again;   /* descriptors ran out: not before this time */
	mono_us                 accept_told;    /* when they last ran out */
	mono_us                 accept_evicted; /* when a connection was last evicted for that */
	h2o_linklist_t          connections;    /* all connections, see connection.h */
	h2o_linklist_t          ready;          /* connections whose next request may start */
	mono_us                 swept;          /* time of the last sweep */
	unsigned                begun;          /* exchanges whose operation has begun: creations that wait */
	bool is_pressed; /* then: more connections waited to be accepted than there are places */

	int           wake_fd; /* an eventfd of the main thread; -1: none */
	h2o_socket_t *wake;    /* the same, in the loop */

	struct rpc  *rpcs[SHARDS_MAX];
	struct waker wakers[SHARDS_MAX * 2]; /* the sessions' descriptors, in the loop */
	unsigned     answered;               /* replies received, ever: shows whether a pump brought any */

	mono_us  now; /* of this turn */
	bool     now_is_known;
	mono_us  last_request;
	unsigned in_flight; /* requests begun and not yet disposed of */
	uint64_t id_base, id_count;

	/* Reused by every request. */
	struct arguments_memory memory;
	struct buffer           body;
	struct refusal          refusal; /* why a connection refused the current request */
	struct metrics          metrics;
};

/* A call in progress; the first member of the structure that waits for it. */
struct pending {
	void (*on_reply)(struct pending *pending, const struct reply *reply);
	struct http_thread *thread;
	struct rpc         *rpc;
	uint64_t            id;
	bool                outstanding;
};

/* The thread's main function; `argument` is its struct http_thread. Sets service->failed if it cannot start. It never
 * returns: it posts service->ended, and its struct http_thread stays. */
void *thread_main(void *argument);

/* Makes every thread look at `stopping` and `live` now. */
void threads_wake(struct service *service);

/* Did every thread reach every shard in its last turn? Any thread may ask. */
bool service_reaches_shards(const struct service *service);

/* The options of this turn, for those that may change while the service runs. */
static inline const struct options *thread_options(const struct http_thread *thread)
{
	return &thread->live->settings.options;
}

/* The turn's time, read at most once a turn. */
static inline mono_us thread_now(struct http_thread *thread)
{
	if (!thread->now_is_known) thread->now = time_mono();
	thread->now_is_known = true;
	return thread->now;
}

/* An id for X-Request-Id, unique in this process, without a NUL. It has a random start and an odd stride: the numbers look
 * unrelated and repeat after 2^64. */
enum { REQUEST_ID_BYTES = 16 };
static inline void thread_request_id(struct http_thread *thread, char id[REQUEST_ID_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	uint64_t          number = thread->id_base + ++thread->id_count * UINT64_C(0x9e3779b97f4a7c15);
	for (int i = REQUEST_ID_BYTES - 1; i >= 0; i--, number >>= 4)
		id[i] = digits[number & 15];
}

/* Begins a call to a shard; `head` has message, account and deadline. On OK the caller appends the array of arguments to
 * *arguments and calls pending_send() or pending_abort(). After pending_send(), pending->on_reply is called later, never from
 * within. No other call may begin before. Errors: those of rpc_begin(). */
must_check enum err thread_call(struct http_thread *thread, struct pending *pending, uint32_t shard,
                                struct call *head, struct buffer **arguments);
void                pending_send(struct pending *pending);
void                pending_abort(struct pending *pending);

/* Waits for the rest of the answer until `end`. Any pending is fine. */
void pending_extend(struct pending *pending, mono_us end);

/* The reply is no longer wanted. Any pending is fine. */
void pending_forget(struct pending *pending);

static inline struct http_thread *thread_of(h2o_req_t *req)
{
	return H2O_STRUCT_FROM_MEMBER(struct http_thread, context, req->conn->ctx);
}
