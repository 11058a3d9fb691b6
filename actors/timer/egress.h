#pragma once
#include "actors/timer/resolver.h"
#include "schemas/address.h"
#include "schemas/attempt.h"
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/ids.h"

/* Egress: HTTPS requests, and HTTP ones for images, to endpoints that accounts named. Thousands at once in one thread, on the
 * process's loop: watch egress_fd(), call egress_turn(). There are limits on all requests, on those to one host and port, and
 * on those of one owner to it (an endpoint). More requests wait in order of arrival. Slow endpoints hold at most half of all
 * places. Owners do not wait for each other. Certificates are verified, every address is checked when it is dialled, redirects
 * are not followed, no proxy is used. */
struct egress;
struct trust;

/* The end of one attempt. `user` is the request's. `latency` runs from the start (of the name look-up, not of the wait for a
 * place) to the head of the response, for a fetch to its end. `body` is a fetch's, borrowed for the call. */
struct egress_outcome {
	void               *user;
	enum attempt_error  error;
	enum attempt_detail detail;
	int                 status; /* of the response; 0 with an error, except TOO_LARGE */
	dur_us              latency;
	struct span         body;
	const char         *host; /* the called host; valid until `done` returns */
	bool is_news;             /* the host starts to fail, fails for another reason, or responds again */
};
typedef void egress_done(void *context, const struct egress_outcome *outcome);

/* `rules` are borrowed until egress_close() and may change. A number of 0 means its default in limits.h. `ca`, the text of a
 * PEM file, adds to the system's authorities. */
struct egress_options {
	const struct address_rules *rules;
	struct span                 ca;
	struct resolver_options     resolver;
	uint32_t                    attempts_max, endpoint_max, host_max, waiting_max;
	dur_us                      attempt_time, start_time;
	egress_done                *done;
	void                       *context;
};

/* Raises the process's soft limit of descriptors to the hard one, and lowers the limits to what fits. Errors: ERR_BAD_OPTION
 * (`ca` has no certificate, `resolver` names no servers), ERR_NO_MEMORY, ERR_IO. */
must_check enum err egress_open(struct egress **egress, const struct egress_options *options);
/* Changes the authorities for new connections. Errors: those of trust_change(). */
must_check enum err egress_trust(struct egress *egress, struct span ca);
/* From now on no request begins: those that wait, or are started later, end with ATTEMPT_NOT_STARTED in the next turn. */
void egress_stop(struct egress *egress);
/* Open and waiting requests end without a `done`. NULL is fine. */
void egress_close(struct egress **egress);

/* A POST of `body`, done at the head of the response; or a fetch, done with the whole response: a GET, or `method` with `body`. `headers` are whole lines ("Name:
 * value") without line end; Host, Content-Length and User-Agent are set here. Everything is copied. Name look-up
 * and dialling each have the options' attempt_time at most. */
struct egress_request {
	struct account_id  owner;
	struct span        url; /* accepted by url_check(), for a fetch by url_check_image() */
	const char *const *headers;
	unsigned           header_count;
	bool               is_fetch;
	const char
	    *method; /* static; of a fetch that sends `body`: POST or PATCH; or GET; NULL: a fetch's GET */
	struct span body;
	void       *user;
	dur_us      time; /* from its beginning to the end of the response; 0: the options' attempt_time */
};
/* Queues a request; never calls back and begins nothing: a turn must follow before the loop sleeps. Every accepted request
 * ends in exactly one `done`, from egress_turn(). Errors: ERR_OVERLOADED (nothing accepted: no place is free, or none for a
 * fetch or for such a large body), ERR_INVALID_WEBHOOK_URL, ERR_NO_MEMORY. */
must_check enum err egress_start(struct egress *egress, const struct egress_request *request, mono_us now);

/* The authorities, which change with egress_trust(); valid until egress_close(). */
struct trust *egress_authorities(const struct egress *egress);

/* Is any certificate authority trusted? */
bool egress_has_roots(const struct egress *egress);

/* How many more requests would be accepted now. */
uint32_t egress_free_slots(const struct egress *egress);

int egress_fd(const struct egress *egress); /* readable: call egress_turn() */
/* Does what is due. Returns how long the loop may sleep at most; 0: there is more to do. Calls `done`, which may call
 * egress_start(), but not egress_turn() or egress_close(). */
dur_us egress_turn(struct egress *egress, mono_us now);
