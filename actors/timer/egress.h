#pragma once
#include "actors/timer/resolver.h"
#include "schemas/address.h"
#include "schemas/attempt.h"
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/ids.h"

/* The way out: HTTPS requests, and for images HTTP ones, to endpoints that accounts named. Thousands at once, in one thread, on the loop of the
 * process: watch egress_fd(), call egress_turn(). A cap on all, on those to one host and port, and on those of one owner to
 * it (an endpoint); more wait in the order of their coming, and a slow endpoint's hold no more than half of all places.
 * Owners do not wait for each other's. Certificates are verified, every address is judged when it is dialled, redirects are
 * not followed, no proxy is used. */
struct egress;

/* One attempt's end. `user` is the request's; `latency` runs from its start (of the look-up of its host, not of its
 * waiting) to the answer's head, or for a fetch to its end; `body` is a fetch's, borrowed for the call. */
struct egress_outcome {
	void               *user;
	enum attempt_error  error;
	enum attempt_detail detail;
	int                 status; /* of the answer; 0 with an error, but for TOO_LARGE */
	dur_us              latency;
	struct span         body;
	const char         *host; /* whom it called; lives as long as the call of `done` */
	bool is_news;             /* the host begins to fail, fails of something else now, or answers again */
};
typedef void egress_done(void *context, const struct egress_outcome *outcome);

/* `rules` are borrowed until egress_close() and may change meanwhile. Zero in a number stands for its default in limits.h.
 * `ca`, the text of a PEM file, adds to the system's authorities. */
struct egress_options {
	const struct address_rules *rules;
	struct span                 ca;
	struct resolver_options     resolver;
	uint32_t                    attempts_max, endpoint_max, host_max, waiting_max;
	dur_us                      attempt_time, start_time;
	egress_done                *done;
	void                       *context;
};

/* Errors: ERR_BAD_OPTION (`ca` holds no certificate, `resolver` names no servers), ERR_NO_MEMORY, ERR_IO. Raises the
 * process' soft limit of descriptors to the hard one, and lets the caps fit what it finds. */
must_check enum err egress_open(struct egress **egress, const struct egress_options *options);
/* Other authorities, for connections that begin from now on. Errors: those of trust_change(). */
must_check enum err egress_trust(struct egress *egress, struct span ca);
/* What is under way or waits ends without a word. NULL is fine. */
void egress_close(struct egress **egress);

/* A POST of `body`, done at the head of the answer; or a GET whose answer's body is wanted. `headers` are whole lines
 * ("Name: value") without their end; Host, Content-Length and User-Agent are not the caller's. Everything is copied. */
struct egress_request {
	struct account_id  owner;
	struct span        url; /* as url_check() took it, or for a fetch url_check_image() */
	const char *const *headers;
	unsigned           header_count;
	bool               is_fetch;
	struct span        body;
	void              *user;
};
/* Never calls back by itself, and begins nothing: a turn follows before the loop sleeps. Every request that is taken ends
 * in exactly one `done`, from egress_turn().
 * Errors: ERR_OVERLOADED (nothing taken: no place is free, or none for a fetch, or for so large a body),
 * ERR_INVALID_WEBHOOK_URL, ERR_NO_MEMORY. */
must_check enum err egress_start(struct egress *egress, const struct egress_request *request, mono_us now);

/* Is there any authority at all whose certificates are believed? */
bool egress_has_roots(const struct egress *egress);

/* How many more would be taken now. */
uint32_t egress_free_slots(const struct egress *egress);

int egress_fd(const struct egress *egress); /* readable: a turn has something to do */
/* Does what is due, and returns how long the loop may sleep at most; 0: there is more to do at once. `done` is called from
 * here and may call egress_start(), not egress_turn() or egress_close(). */
dur_us egress_turn(struct egress *egress, mono_us now);
