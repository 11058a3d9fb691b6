#pragma once
#include "actors/timer/egress.h"
#include "actors/timer/resolver.h"
#include "actors/timer/trust.h"
#include "schemas/buffer.h"
#include "schemas/limits.h"
#include "schemas/url.h"

#include <curl/curl.h>
#include <sys/queue.h>

/* Shared by the files of egress, and by no others.
 *
 * An attempt's states, each a list of egress by age:
 *   WAITING   for a place, in its endpoint's queue too; at most start_time
 *   LOOKING   for the addresses of its host; from here on it holds a place
 *   CALLING   in libcurl; without a reusable connection it goes
 *   DIALLING  to its host's addresses, and then back to CALLING
 *   DECIDED   the head of the response has arrived, not reported yet
 *   DRAINING  reported; the rest is read and dropped, so that the connection can be reused
 * Egress owns attempts, from egress_start() until they end; endpoints and hosts only refer to them. A host lives while it has
 * an endpoint or is looked up. */
enum attempt_state { WAITING, LOOKING, DIALLING, CALLING, DECIDED, DRAINING, ATTEMPT_STATE_COUNT };

struct attempt {
	TAILQ_ENTRY(attempt) by_age, of_endpoint;
	enum attempt_state state;
	struct egress     *egress;
	struct endpoint   *endpoint;
	void              *user;
	char              *url;
	struct curl_slist *headers, *addresses;
	uint8_t           *body;
	size_t             body_size;
	const char        *method;             /* NULL: POST, or GET of a fetch */
	bool               is_fetch, is_plain; /* plain: http, not https */
	bool               is_doubtful;        /* its endpoint was doubtful when it began */
	mono_us            due;                /* when its state has lasted too long */
	mono_us            began_at, decided_at;
	dur_us             time; /* as in struct egress_request */

	/* race.c */
	struct race *race; /* in state DIALLING */
	int          fd;   /* connected, for libcurl; -1: none */
	bool         has_refused, has_dialled;

	/* dial.c, tls.c, ends.c */
	CURL               *easy;
	int                 status; /* of the head being read */
	bool                wants_connection, has_request, has_head, lacked, overflowed;
	bool                was_asked_certificate;  /* the endpoint asked for a client certificate */
	enum attempt_detail detail;                 /* what is known of a failure so far */
	char                fault[CURL_ERROR_SIZE]; /* libcurl's message */
	size_t              head_bytes, rest_bytes;
	struct buffer       fetched;
};
TAILQ_HEAD(attempts, attempt);

/* How an attempt ended. */
struct ending {
	enum attempt_error  error;
	enum attempt_detail detail;
};

/* What a race waits for: the time of its next address; a late family; its last runners; its attempt. */
enum race_wait { RACE_STAGGER, RACE_LATE, RACE_IDLE, RACE_OVER, RACE_WAITS };
TAILQ_HEAD(races, race);
#define RACE_EVENT \
	(UINT64_C(1) << 63) /* marks events of races, beside a pointer; checked before RESOLVER_EVENT */

/* A host and port: what is known of it, and how many places all owners hold there. */
struct host {
	LIST_ENTRY(host) in_bucket;
	struct egress  *egress;
	struct attempts looking;
	uint32_t        endpoint_count, running, doubtful_running;
	TAILQ_ENTRY(host) in_settling;
	bool                is_address, is_looked_up; /* is_looked_up: in progress now */
	bool                is_heard;                 /* the last or current look-up has an answer */
	bool                is_settling;              /* one family is known, the other is awaited */
	mono_us             asked_at, settles_at, known_until;
	unsigned            address_count;
	struct address      address[RESOLVED_MAX]; /* in dialling order */
	enum attempt_detail why;                   /* why there are none */
	enum attempt_error  logged;                /* the failure logged last; NONE: it responds */
	enum attempt_detail logged_detail;
	mono_us             logged_at;
	uint16_t            port;
	char                name[URL_NAME_TEXT];
	char                origin[URL_ORIGIN_TEXT];
};
LIST_HEAD(host_bucket, host);
TAILQ_HEAD(settling, host);

/* A host as one owner uses it: its waiting attempts, and how it responded to them. It is in exactly one queue. READY: an
 * attempt waits and may start. HELD: it could start, but other owners use its host too much. BUSY: the endpoint has no place
 * of its own left. */
enum line { READY_SOUND, READY_DOUBTFUL, HELD, IDLE, BUSY, LINE_COUNT };
struct endpoint {
	LIST_ENTRY(endpoint) in_bucket;
	TAILQ_ENTRY(endpoint) in_line;
	enum line         line;
	struct account_id owner;
	struct host      *host;
	struct attempts   waiting;
	uint32_t          running;
	bool              is_doubtful;
	mono_us           idle_since;
};
TAILQ_HEAD(endpoints, endpoint);
LIST_HEAD(bucket, endpoint);
enum { BUCKET_COUNT = 1 << 13, EASY_KEPT_MAX = 256 };

struct egress {
	struct egress_options options; /* with defaults filled in; texts are not kept */
	int                   epoll_fd;
	CURLM                *multi;
	struct trust         *trust;
	struct resolver      *resolver;
	mono_us               now;      /* of this turn */
	mono_us               curl_due; /* when libcurl's timer is due; -1: not set */
	CURL                 *easy[EASY_KEPT_MAX];
	unsigned              easy_count;
	struct attempts       in[ATTEMPT_STATE_COUNT];
	struct races          races[RACE_WAITS];
	uint32_t              runner_count; /* sockets of races */
	struct settling       settling;     /* hosts, oldest first */
	struct endpoints      line[LINE_COUNT];
	struct bucket         bucket[BUCKET_COUNT];
	struct host_bucket    host_bucket[BUCKET_COUNT];
	uint32_t              waiting_count, running, doubtful_running, fetch_count, idle_count;
	size_t                body_bytes, body_bytes_of[SLOT_COUNT]; /* in all; by the owner's slot */
	bool                  doubtful_next;                         /* the two READY queues take turns */
	bool                  has_freed;   /* a place was freed since HELD ones were checked */
	mono_us               news_since;  /* lines of the log, */
	unsigned              news_count;  /* so many since then */
	bool                  is_stopping; /* nothing begins any more */
};

/* ---- attempt.c ---- */

void attempt_move(struct attempt *attempt, enum attempt_state state);
/* Was part of the request sent? */
bool attempt_has_sent(const struct attempt *attempt);

/* ---- endpoint.c ---- */

/* An owner's endpoint of a URL, created if missing; NULL: no memory. */
struct endpoint *endpoint_of(struct egress *egress, struct account_id owner, const struct url *url);
/* The attempt takes a place, or returns it. Call endpoint_settle() afterwards. */
void endpoint_enter(struct attempt *attempt);
void endpoint_leave(struct attempt *attempt);
/* Before places are given: makes HELD endpoints ready if their host has room again. */
void endpoints_unhold(struct egress *egress);
/* Moves it to the queue that fits its state. */
void endpoint_settle(struct endpoint *endpoint);
/* The next endpoint in turn with a waiting attempt; NULL: none. Call endpoint_settle() afterwards. */
struct endpoint *endpoint_next(struct egress *egress);
bool             endpoint_is_next(const struct egress *egress); /* may there be one? */
/* Frees some idle endpoints, or all. */
void endpoints_forget(struct egress *egress, mono_us now);
void endpoints_free(struct egress *egress);

/* ---- host.c ---- */

/* The host of a URL, created if missing; NULL: no memory. */
struct host *host_of(struct egress *egress, const struct url *url);
/* Frees it if it is not needed. */
void host_settle(struct host *host);
/* Does the host have room for one more attempt of this endpoint? */
bool host_has_room(const struct endpoint *endpoint);
/* A look-up begins. */
void host_ask(struct host *host);
/* Stores an answer to a look-up. */
void host_know(struct host *host, const struct resolved *resolved);
/* Is IPv4 known and IPv6 still being looked up? Dialling waits a moment for IPv6. */
bool host_awaits_family(const struct host *host);
bool host_is_known(const struct host *host, mono_us now);
/* Frees all hosts at the end, after look-ups and endpoints. */
void hosts_free(struct egress *egress);

/* ---- dial.c ---- */

must_check enum err dial_open(struct egress *egress);
void                dial_close(struct egress *egress);
/* Hands an attempt to libcurl, with its connection if it has one. dial_end() returns the handle. */
must_check enum err dial_begin(struct attempt *attempt);
void                dial_end(struct attempt *attempt);
/* The next attempt that libcurl has finished, and how it ended; NULL: none. With wants_connection it has not ended, because no
 * connection could be reused: continue with dial_pause() and race_begin(). */
struct attempt *dial_next_done(struct egress *egress, struct ending *ending);
void            dial_pause(struct attempt *attempt);
void            dial_event(struct egress *egress, int fd, uint32_t events);
void            dial_turn(struct egress *egress, mono_us now);

/* ---- tls.c ---- */

/* Sets up each connection of libcurl's: trusted authorities, and a callback that notes faults of certificates in the attempt. */
CURLcode tls_begin(CURL *easy, void *context, void *attempt);

/* ---- ends.c ---- */

/* How an attempt ended: by libcurl's result; by a race without a winner; by its deadline, in its current state. */
struct ending ending_of_call(const struct attempt *attempt, CURLcode code);
struct ending ending_of_race(const struct attempt *attempt);
struct ending ending_of_time(const struct attempt *attempt);
/* Part of the request may have arrived: it must not be sent again. */
bool is_spent(const struct attempt *attempt);

/* ---- race.c ---- */

/* Dials the addresses of an attempt's host. Errors: ERR_NO_MEMORY. */
must_check enum err race_begin(struct attempt *attempt);
void                race_end(struct attempt *attempt); /* an attempt without one is fine */
/* The next attempt whose race has ended, with or without a connection; NULL: none. */
struct attempt *races_next_over(struct egress *egress);
void            race_event(uint64_t data);
void            races_turn(struct egress *egress);
mono_us         races_due(const struct egress *egress); /* when to turn; INT64_MAX: never */
