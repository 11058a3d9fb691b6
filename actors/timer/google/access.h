#pragma once
#include "actors/timer/egress_job.h"
#include "schemas/buffer.h"
#include "schemas/wallet/push.h"

#include <openssl/types.h>
#include <sys/queue.h>

/* Calls of Google's Wallet API, each by a service account. An account's calls are spaced, because Google allows it 20 a second, and
 * wait for an access token, which is asked for once and kept until shortly before its end. Not shared between threads. */
enum { GOOGLE_CALLS_A_SECOND = 15, CALL_NOT_BEGUN = -1 };

/* One call. Its owner keeps it, and the texts, until `on_done`. */
struct google_call {
	TAILQ_ENTRY(google_call) in_line;
	struct egress_job job;
	struct access    *access;
	const char       *method; /* PATCH or POST */
	struct span       path;   /* behind /walletobjects/v1/ */
	struct span       body;   /* JSON */
	mono_us           due;    /* it is given up if it has not begun by then */
	bool     renews; /* a rehearsal: a new access token is asked for first, unless one has just been */
	unsigned token;  /* which of its account's access tokens it was made with */
	void (*on_done)(struct google_call *call, int status, struct span body, const char *reason);
};
TAILQ_HEAD(google_calls, google_call);

struct google_options {
	struct egress *egress;
	const char    *api; /* in place of Google's own hosts; NULL: those */
};
struct google;

/* Errors: ERR_NO_MEMORY. */
must_check enum err google_open(struct google **google, const struct google_options *options);
void google_close(struct google **google); /* before egress_close(); calls end without `on_done` */

/* A service account, by the hash of what identifies it: all credentials with it share its pace and its token. */
struct access_credential {
	struct account_id account; /* in whose name egress works */
	struct span       email, token_uri;
	struct span       key; /* DER */
};
/* Finds it, or opens it. Errors: ERR_NO_MEMORY, ERR_DAMAGED: the key cannot be used. */
must_check enum err access_open(struct google *google, const struct access_credential *credential,
                                struct access **access);

/* Queues a call. `on_done` gets the status and, of a success, the body; status 0: no answer, as `reason` says; 401
 * with a reason: no access token; CALL_NOT_BEGUN: it waited until its `due`. It comes from egress_turn() or google_turn(). */
void google_call(struct access *access, struct google_call *call);
/* The same for the next call of work that has begun: it goes before those that have not. */
void google_call_next(struct access *access, struct google_call *call);

/* Begins what may begin. Returns how long the loop may sleep at most. */
dur_us google_turn(struct google *google, mono_us now);

/* Did the class look like that when this account wrote it last? And notes that it does. By a hash, in this process's memory. */
bool google_knows_class(const struct access *access, struct span id, struct span json);
void google_note_class(struct access *access, struct span id, struct span json);

/* How many calls in a row for objects Google has forbidden this account, with this one; and that one was not. */
unsigned google_note_forbidden(struct access *access);
void     google_note_allowed(struct access *access);
