#pragma once
#include "actors/timer/egress.h"
#include "actors/timer/resolver.h"
#include "actors/timer/trust.h"
#include "schemas/buffer.h"
#include "schemas/limits.h"
#include "schemas/url.h"

#include <curl/curl.h>
#include <sys/queue.h>

/* What the files of egress share; nobody else includes this.
 *
 * An attempt's states, each a list of egress by age:
 *   WAITING   for a place, in its endpoint's line too; at most start_time
 *   LOOKING   for the addresses of its host; from here on it holds a place
 *   CALLING   libcurl has it; without a connection that is kept it goes
 *   DIALLING  to its host's addresses, and then back to CALLING
 *   DECIDED   the head of the answer has come, nobody has been told
 *   DRAINING  told; what follows the head is read and dropped, so that the connection can be used again
 * Egress owns attempts, from egress_start() until they end; endpoints and hosts own nothing of them. A host lives while it
 * has an endpoint or is looked up. */
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
	bool               is_fetch, is_plain; /* plain: http, not https */
	bool               is_doubtful;        /* its endpoint was in doubt when it began */
	mono_us            due;                /* when its state has lasted for too long */
	mono_us            began_at, decided_at;

	/* race.c's */
	struct race *race; /* DIALLING */
	int          fd;   /* connected, for libcurl; -1: none */
	bool         has_refused, has_dialled;

	/* dial.c's, tls.c's, ends.c's */
	CURL               *easy;
	int                 status; /* of the head that is being read */
	bool                wants_connection, has_request, has_head, lacked, overflowed;
	bool                was_asked_certificate;  /* by the endpoint, for one of ours */
	enum attempt_detail detail;                 /* what is known of a failure so far */
	char                fault[CURL_ERROR_SIZE]; /* libcurl's words */
	size_t              head_bytes, rest_bytes;
	struct buffer       fetched;
};
TAILQ_HEAD(attempts, attempt);

/* How an attempt ended. */
struct ending {
	enum attempt_error  error;
	enum attempt_detail detail;
};

/* What a race waits for: the time of its next address; that of a family whose answer is late; its last runners; its attempt. */
enum race_wait { RACE_STAGGER, RACE_LATE, RACE_IDLE, RACE_OVER, RACE_WAITS };
TAILQ_HEAD(races, race);
#define RACE_EVENT   \
	(UINT64_C(1) \
	 << 63) /* marks what epoll tells of races, beside a pointer; looked at before RESOLVER_EVENT */

/* A host and port: what is known of it, and how much of it all owners hold together. */
struct host {
	LIST_ENTRY(host) in_bucket;
	struct egress  *egress;
	struct attempts looking;
	uint32_t        endpoint_count, running, doubtful_running;
	TAILQ_ENTRY(host) in_settling;
	bool                is_address, is_looked_up; /* the last: right now */
	bool                is_heard;                 /* an answer to the look-up, the last or the one now */
	bool                is_settling;              /* one family is there, the other is waited for */
	mono_us             asked_at, settles_at, known_until;
	unsigned            address_count;
	struct address      address[RESOLVED_MAX]; /* in the order in which they are dialled */
	enum attempt_detail why;                   /* there are none */
	enum attempt_error  told;                  /* the failure that was news last; NONE: it answers */
	enum attempt_detail told_detail;
	mono_us             told_at;
	uint16_t            port;
	char                name[URL_NAME_TEXT];
	char                origin[URL_ORIGIN_TEXT];
};
LIST_HEAD(host_bucket, host);
TAILQ_HEAD(settling, host);

/* A host as one owner has it: who waits for it, and how it answered him. In exactly one line: READY ones have somebody who
 * waits and room for him, HELD ones had room but for what others have at their host, BUSY ones have none of their own. */
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
	struct egress_options options; /* with the defaults filled in; texts are not kept */
	int                   epoll_fd;
	CURLM                *multi;
	struct trust         *trust;
	struct resolver      *resolver;
	mono_us               now;      /* of this turn */
	mono_us               curl_due; /* what libcurl's timer was set to; -1: not set */
	CURL                 *easy[EASY_KEPT_MAX];
	unsigned              easy_count;
	struct attempts       in[ATTEMPT_STATE_COUNT];
	struct races          races[RACE_WAITS];
	uint32_t              runner_count; /* sockets of races */
	struct settling       settling;     /* hosts, the oldest first */
	struct endpoints      line[LINE_COUNT];
	struct bucket         bucket[BUCKET_COUNT];
	struct host_bucket    host_bucket[BUCKET_COUNT];
	uint32_t              waiting_count, running, doubtful_running, fetch_count, idle_count;
	size_t                body_bytes, body_bytes_of[SLOT_COUNT]; /* in all; by the owner's slot */
	bool                  doubtful_next; /* the two lines of the ready take turns */
	bool                  has_freed;     /* a place, since the HELD were looked at */
};

/* ---- attempt.c ---- */

void attempt_move(struct attempt *attempt, enum attempt_state state);
/* Has some of the request left? */
bool attempt_has_sent(const struct attempt *attempt);

/* ---- endpoint.c ---- */

/* An owner's endpoint of a URL, made if it is new; NULL without memory. */
struct endpoint *endpoint_of(struct egress *egress, struct account_id owner, const struct url *url);
/* A place is taken for the attempt, or given back. endpoint_settle() follows. */
void endpoint_enter(struct attempt *attempt);
void endpoint_leave(struct attempt *attempt);
/* Before places are given: those HELD whose host has room again are ready. */
void endpoints_unhold(struct egress *egress);
/* Puts it into the line that fits what has changed about it. */
void endpoint_settle(struct endpoint *endpoint);
/* Whose turn it is, with somebody who waits; NULL: nobody's. endpoint_settle() follows. */
struct endpoint *endpoint_next(struct egress *egress);
bool             endpoint_is_next(const struct egress *egress); /* might there be one? */
/* Forgets some of those that have nothing to do, or all. */
void endpoints_forget(struct egress *egress, mono_us now);
void endpoints_free(struct egress *egress);

/* ---- host.c ---- */

/* The host of a URL, made if it is new; NULL without memory. */
struct host *host_of(struct egress *egress, const struct url *url);
/* Frees it if nothing needs it any more. */
void host_settle(struct host *host);
/* Whether those who are there leave room for one more of this endpoint. */
bool host_has_room(const struct endpoint *endpoint);
/* A look-up begins. */
void host_ask(struct host *host);
/* Takes an answer to a look-up. */
void host_know(struct host *host, const struct resolved *resolved);
/* Is IPv4 there, and IPv6 still looked up? The one is not dialled before the other had a moment to come. */
bool host_awaits_family(const struct host *host);
bool host_is_known(const struct host *host, mono_us now);
/* All of them, at the end: look-ups are over, and endpoints gone. */
void hosts_free(struct egress *egress);

/* ---- dial.c ---- */

must_check enum err dial_open(struct egress *egress);
void                dial_close(struct egress *egress);
/* Hands an attempt to libcurl, with the connection that it has, or else without. Its handle comes back by dial_end(). */
must_check enum err dial_begin(struct attempt *attempt);
void                dial_end(struct attempt *attempt);
/* The next attempt that libcurl is done with, and how it ended; NULL: none. With wants_connection it has not ended, and
 * goes on with dial_pause() and race_begin(): no connection was kept that it could use. */
struct attempt *dial_next_done(struct egress *egress, struct ending *ending);
void            dial_pause(struct attempt *attempt);
void            dial_event(struct egress *egress, int fd, uint32_t events);
void            dial_turn(struct egress *egress, mono_us now);

/* ---- tls.c ---- */

/* What each connection of libcurl's is told: whom to believe, and to note in the attempt what is wrong with its
 * certificates. */
CURLcode tls_begin(CURL *easy, void *context, void *attempt);

/* ---- ends.c ---- */

/* How an attempt ended by libcurl's word; by a race that nobody won; and by its time, in the state that it is in. */
struct ending ending_of_call(const struct attempt *attempt, CURLcode code);
struct ending ending_of_race(const struct attempt *attempt);
struct ending ending_of_time(const struct attempt *attempt);
/* What was sent may have arrived: it must not be sent again. */
bool is_spent(const struct attempt *attempt);

/* ---- race.c ---- */

/* Dials the addresses of an attempt's host. Errors: ERR_NO_MEMORY. */
must_check enum err race_begin(struct attempt *attempt);
void                race_end(struct attempt *attempt); /* an attempt without one is fine */
/* The next attempt whose race is over, and has been ended: with a connection, or without; NULL: none. */
struct attempt *races_next_over(struct egress *egress);
void            race_event(uint64_t data);
void            races_turn(struct egress *egress);
mono_us         races_due(const struct egress *egress); /* when to turn; INT64_MAX: never */
