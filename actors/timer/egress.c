/* Egress as a whole: waiting attempts, those in progress, and one turn.
 *
 * Everything happens in egress_turn(), in an order in which no callback meets code still at work. First libcurl and the
 * resolver process events. Then ends are gathered and reported. Then free places go to waiting attempts. An attempt is
 * reported when the head of the response has arrived. It keeps its place a moment longer, because a connection whose response
 * was read to the end can carry the next attempt without a handshake. */
#include "actors/timer/egress_inside.h"
#include "actors/timer/trust.h"
#include "actors/rt/time.h"
#include "schemas/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

/* A handshake takes a millisecond of this thread: few a turn leave time for other work. */
enum { EVENTS_A_TURN = 32, BEGUN_A_TURN = 32, NAP_MS = 1000 };

/* ---- attempts ---- */

static void attempt_free(struct attempt *attempt)
{
	if (!attempt) return;
	curl_slist_free_all(attempt->headers);
	free(attempt->url);
	free(attempt->body);
	free(attempt);
}

/* Removes it from all lists, returns its place and frees it. */
static void attempt_end(struct attempt *attempt)
{
	struct egress   *egress = attempt->egress;
	struct endpoint *endpoint = attempt->endpoint;

	race_end(attempt);
	dial_end(attempt);
	TAILQ_REMOVE(&egress->in[attempt->state], attempt, by_age);
	if (attempt->state == WAITING) {
		TAILQ_REMOVE(&endpoint->waiting, attempt, of_endpoint);
		egress->waiting_count--;
	} else {
		if (attempt->state == LOOKING) TAILQ_REMOVE(&endpoint->host->looking, attempt, of_endpoint);
		endpoint_leave(attempt);
	}
	egress->fetch_count -= attempt->is_fetch && !attempt->method;
	egress->body_bytes -= attempt->body_size;
	egress->body_bytes_of[account_slot(endpoint->owner)] -= attempt->body_size;
	attempt_free(attempt);
	endpoint_settle(endpoint);
}

/* Of each host, and of all together, since an account may name any number of hosts. Further changes are not logged. */
enum { NEWS_EVERY_S = 60, NEWS_MAX = 60 };

static bool has_room_for_news(struct egress *egress, mono_us now)
{
	bool is_over = mono_since(now, egress->news_since).v >= NEWS_EVERY_S * US_PER_SEC;

	if (is_over || !egress->news_since.v) {
		egress->news_since = now;
		egress->news_count = 0;
	}
	return egress->news_count < NEWS_MAX;
}

/* Stores the result if it differs from the last one logged. An attempt that did not begin, or failed for lack of our own
 * resources, says nothing about the host. */
static bool is_news(struct host *host, struct ending ending, mono_us now)
{
	bool same = ending.error == host->logged && ending.detail == host->logged_detail;
	if (same || ending.error == ATTEMPT_NOT_STARTED || ending.error == ATTEMPT_INTERNAL) return false;
	if (host->logged_at.v && mono_since(now, host->logged_at).v < NEWS_EVERY_S * US_PER_SEC) return false;
	if (!has_room_for_news(host->egress, now)) return false;
	host->egress->news_count++;
	host->logged = ending.error;
	host->logged_detail = ending.detail;
	host->logged_at = now;
	return true;
}

static void report(struct attempt *attempt, struct ending ending)
{
	struct egress     *egress = attempt->egress;
	enum attempt_error error = ending.error;
	bool               answered = error == ATTEMPT_NONE || error == ATTEMPT_TOO_LARGE;
	mono_us end = error == ATTEMPT_NONE && !attempt->is_fetch ? attempt->decided_at : time_mono();
	struct egress_outcome outcome = {
	    .user = attempt->user,
	    .error = error,
	    .detail = ending.detail,
	    .status = answered ? attempt->status : 0,
	    .host = attempt->endpoint->host->origin,
	    .is_news = is_news(attempt->endpoint->host, ending, end),
	};

	if (attempt->state != WAITING) {
		outcome.latency = mono_since(end, attempt->began_at);
		attempt->endpoint->is_doubtful = outcome.latency.v > EGRESS_SLOW_MS * US_PER_MS;
	}
	if (error == ATTEMPT_NONE) outcome.body = buffer_span(&attempt->fetched);
	egress->options.done(egress->options.context, &outcome);
}

static void finish(struct attempt *attempt, struct ending ending)
{
	if (attempt->state != DRAINING) report(attempt, ending);
	attempt_end(attempt);
}

static void fail(struct attempt *attempt)
{
	finish(attempt, (struct ending){ATTEMPT_INTERNAL, DETAIL_NONE});
}

/* ---- requests ---- */

static enum err copy_request(struct attempt *attempt, const struct egress_request *request,
                             const struct url *url)
{
	struct buffer text = {0};

	/* An Expect would cost a second at endpoints that do not know it. */
	attempt->headers = curl_slist_append(NULL, "Expect:");
	for (unsigned i = 0; attempt->headers && i < request->header_count; i++)
		if (!curl_slist_append(attempt->headers, request->headers[i])) return ERR_NO_MEMORY;
	url_write(url, &text);
	buffer_byte(&text, 0);
	attempt->url = (char *)text.at;
	attempt->body = malloc(request->body.size + 1);
	if (text.failed || !attempt->headers || !attempt->body) return ERR_NO_MEMORY;
	if (request->body.size) memcpy(attempt->body, request->body.at, request->body.size);
	attempt->body_size = request->body.size;
	attempt->is_fetch = request->is_fetch;
	attempt->method = request->method;
	attempt->is_plain = url->is_plain;
	attempt->user = request->user;
	return OK;
}

uint32_t egress_free_slots(const struct egress *egress)
{
	uint32_t max = egress->options.attempts_max + egress->options.waiting_max;
	uint32_t taken = egress->waiting_count + egress->running;

	return taken < max ? max - taken : 0;
}

/* Large bodies of one owner must not keep others from sending. Two owners of one slot share a limit, about one pair in
 * thousands. */
static bool has_bytes_for(const struct egress *egress, const struct egress_request *request)
{
	size_t size = request->body.size, held = egress->body_bytes_of[account_slot(request->owner)];

	if (size <= EGRESS_SMALL_BYTES) return true;
	if (held && held + size > EGRESS_OWNER_BYTES_MAX) return false;
	return egress->body_bytes + size <= EGRESS_BYTES_MAX;
}

enum err egress_start(struct egress *egress, const struct egress_request *request, mono_us now)
{
	struct attempt *attempt = NULL;
	struct url      url;
	enum err        err = ERR_OVERLOADED;

	if (egress_free_slots(egress) == 0 || !has_bytes_for(egress, request)) goto out;
	if (request->is_fetch && !request->method && egress->fetch_count >= EGRESS_FETCHES_MAX) goto out;
	err = request->is_fetch ? url_read_image(request->url, &url) : url_read(request->url, &url);
	if (err) goto out;
	err = ERR_NO_MEMORY;
	if (!(attempt = calloc(1, sizeof *attempt))) goto out;
	if ((err = copy_request(attempt, request, &url))) goto out;
	err = ERR_NO_MEMORY;
	if (!(attempt->endpoint = endpoint_of(egress, request->owner, &url))) goto out;
	attempt->egress = egress;
	attempt->time = request->time.v ? request->time : egress->options.attempt_time;
	attempt->fd = -1;
	attempt->state = WAITING;
	attempt->due = mono_after(now, egress->options.start_time);
	TAILQ_INSERT_TAIL(&egress->in[WAITING], attempt, by_age);
	TAILQ_INSERT_TAIL(&attempt->endpoint->waiting, attempt, of_endpoint);
	egress->waiting_count++;
	egress->fetch_count += attempt->is_fetch &&
	                       !attempt->method; /* calls with a method bound themselves */
	egress->body_bytes += attempt->body_size;
	egress->body_bytes_of[account_slot(request->owner)] += attempt->body_size;
	endpoint_settle(attempt->endpoint);
	return OK;
out:
	attempt_free(attempt);
	return err;
}

/* ---- places ---- */

static void call(struct attempt *attempt)
{
	attempt_move(attempt, CALLING);
	if (dial_begin(attempt)) fail(attempt);
}

static void dial(struct attempt *attempt)
{
	mono_us end = mono_after(attempt->began_at, attempt->time);

	dial_pause(attempt);
	attempt->due = mono_after(attempt->egress->now, attempt->egress->options.attempt_time);
	if (attempt->due.v > end.v) attempt->due = end;
	attempt_move(attempt, DIALLING);
	if (race_begin(attempt)) fail(attempt);
}

/* The host's addresses are known, or it has none. */
static void let_go(struct host *host)
{
	struct attempt *attempt;

	if (host->is_settling) TAILQ_REMOVE(&host->egress->settling, host, in_settling);
	host->is_settling = false;
	while ((attempt = TAILQ_FIRST(&host->looking))) {
		bool is_late = attempt->due.v <= host->egress->now.v; /* the process was stopped meanwhile */
		struct ending ending = ending_of_time(attempt);
		TAILQ_REMOVE(&host->looking, attempt, of_endpoint);
		attempt_move(attempt, CALLING); /* it leaves its host's list */
		if (is_late)
			finish(attempt, ending);
		else if (host->address_count)
			call(attempt);
		else
			finish(attempt, (struct ending){ATTEMPT_DNS, host->why});
	}
}

/* Called twice if the name's families arrive one after the other. */
static void on_resolved(void *user, const struct resolved *resolved)
{
	struct host   *host = user;
	struct egress *egress = host->egress;

	host_know(host, resolved);
	if (!host_awaits_family(host)) {
		if (resolved->is_last || host->address_count) let_go(host);
	} else if (!host->is_settling) {
		host->is_settling = true;
		host->settles_at = mono_after(egress->now, (dur_us){EGRESS_FAMILY_WAIT_MS * US_PER_MS});
		TAILQ_INSERT_TAIL(&egress->settling, host, in_settling);
	}
	if (resolved->is_last) host_settle(host);
}

static void settle_hosts(struct egress *egress)
{
	struct host *host;

	while ((host = TAILQ_FIRST(&egress->settling)) && host->settles_at.v <= egress->now.v)
		let_go(host);
}

static void begin(struct egress *egress, struct attempt *attempt)
{
	struct host *host = attempt->endpoint->host;

	TAILQ_REMOVE(&attempt->endpoint->waiting, attempt, of_endpoint);
	egress->waiting_count--;
	endpoint_enter(attempt);
	attempt->began_at = time_mono();
	attempt->due = mono_after(attempt->began_at, egress->options.attempt_time);
	if (host_is_known(host, egress->now)) {
		call(attempt);
		return;
	}
	attempt_move(attempt, LOOKING);
	TAILQ_INSERT_TAIL(&host->looking, attempt, of_endpoint);
	if (host->is_looked_up) return;
	host_ask(host);
	resolver_ask(egress->resolver, account_slot(attempt->endpoint->owner), host->name, on_resolved, host);
}

static void begin_some(struct egress *egress)
{
	struct endpoint *endpoint;

	endpoints_unhold(egress);
	for (unsigned i = 0; i < BEGUN_A_TURN && (endpoint = endpoint_next(egress)); i++) {
		begin(egress, TAILQ_FIRST(&endpoint->waiting));
		endpoint_settle(endpoint);
	}
}

/* What has come by now; those that their ends cause wait for the next turn. */
static void end_waiting(struct egress *egress)
{
	const struct attempt *last = TAILQ_LAST(&egress->in[WAITING], attempts);

	for (bool is_last = !last; !is_last;) {
		struct attempt *attempt = TAILQ_FIRST(&egress->in[WAITING]);
		is_last = attempt == last;
		finish(attempt, ending_of_time(attempt));
	}
}

/* ---- a turn ---- */

static bool take_events(struct egress *egress)
{
	struct epoll_event events[EVENTS_A_TURN];
	int                count = epoll_wait(egress->epoll_fd, events, EVENTS_A_TURN, 0);

	for (int i = 0; i < count; i++) {
		if (events[i].data.u64 & RACE_EVENT)
			race_event(events[i].data.u64);
		else if (events[i].data.u64 & RESOLVER_EVENT)
			resolver_event(egress->resolver, events[i].data.u64, events[i].events);
		else
			dial_event(egress, (int)events[i].data.u64, events[i].events);
	}
	return count == EVENTS_A_TURN;
}

static void gather_ends(struct egress *egress)
{
	static const struct ending answered = {ATTEMPT_NONE, DETAIL_NONE};
	struct attempt            *attempt;
	struct ending              ending;

	while ((attempt = races_next_over(egress))) {
		if (attempt->fd >= 0)
			call(attempt);
		else
			finish(attempt, ending_of_race(attempt));
	}
	while ((attempt = dial_next_done(egress, &ending))) {
		if (attempt->wants_connection)
			dial(attempt);
		else
			finish(attempt, ending);
	}
	while ((attempt = TAILQ_FIRST(&egress->in[DECIDED]))) {
		report(attempt, answered);
		attempt_move(attempt, DRAINING);
		attempt->due = mono_after(egress->now, (dur_us){EGRESS_DRAIN_MS * US_PER_MS});
	}
}

/* The attempts of a state come due in order of entry. */
static void end_due(struct egress *egress, enum attempt_state state)
{
	struct attempt *oldest;

	while ((oldest = TAILQ_FIRST(&egress->in[state])) && oldest->due.v <= egress->now.v)
		finish(oldest, ending_of_time(oldest));
}

static void sleep_until(int64_t *wake, mono_us at)
{
	if (at.v < *wake) *wake = at.v;
}

static dur_us sleep_of(const struct egress *egress)
{
	int64_t               wake = egress->now.v + NAP_MS * US_PER_MS;
	const struct attempt *oldest;

	for (unsigned state = 0; state < ATTEMPT_STATE_COUNT; state++)
		if (state != CALLING && (oldest = TAILQ_FIRST(&egress->in[state])))
			sleep_until(&wake, oldest->due);
	if (egress->curl_due.v >= 0) sleep_until(&wake, egress->curl_due);
	if (!TAILQ_EMPTY(&egress->settling)) sleep_until(&wake, TAILQ_FIRST(&egress->settling)->settles_at);
	sleep_until(&wake, races_due(egress));
	if (endpoint_is_next(egress) || !TAILQ_EMPTY(&egress->races[RACE_OVER])) return (dur_us){0};
	if (resolver_is_busy(egress->resolver))
		sleep_until(&wake, mono_after(egress->now, (dur_us){RESOLVER_TURN_MS * US_PER_MS}));
	return (dur_us){wake > egress->now.v ? wake - egress->now.v : 0};
}

dur_us egress_turn(struct egress *egress, mono_us now)
{
	bool more;

	egress->now = now;
	more = take_events(egress);
	dial_turn(egress, now);
	resolver_turn(egress->resolver);
	settle_hosts(egress);
	races_turn(egress);
	trust_turn(egress->trust, now);
	gather_ends(egress);
	end_due(egress, LOOKING);
	end_due(egress, DIALLING);
	end_due(egress, DRAINING);
	/* Before new ones begin: the process may have been stopped. */
	end_due(egress, WAITING);
	if (egress->is_stopping)
		end_waiting(egress);
	else
		begin_some(egress);
	endpoints_forget(egress, now);
	return more ? (dur_us){0} : sleep_of(egress);
}

void egress_stop(struct egress *egress)
{
	egress->is_stopping = true;
}

struct trust *egress_authorities(const struct egress *egress)
{
	return egress->trust;
}

bool egress_has_roots(const struct egress *egress)
{
	return !trust_is_empty(egress->trust);
}

int egress_fd(const struct egress *egress)
{
	return egress->epoll_fd;
}

/* ---- open and close ---- */

/* An attempt needs three descriptors: its connection, one to another address of the host, and one kept for the next. */
static uint32_t attempts_that_fit(uint32_t wanted)
{
	struct rlimit limit;
	rlim_t        fit;

	if (getrlimit(RLIMIT_NOFILE, &limit)) return wanted;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) && getrlimit(RLIMIT_NOFILE, &limit)) return wanted;
	fit = limit.rlim_cur > DESCRIPTORS_RESERVED ? (limit.rlim_cur - DESCRIPTORS_RESERVED) / 3 : 1;
	return fit < wanted ? (uint32_t)fit : wanted;
}

static void fill_in(struct egress_options *options)
{
	if (!options->attempts_max) options->attempts_max = EGRESS_ATTEMPTS_MAX;
	if (!options->endpoint_max) options->endpoint_max = EGRESS_ENDPOINT_MAX;
	if (!options->host_max) options->host_max = EGRESS_HOST_MAX;
	if (!options->waiting_max) options->waiting_max = EGRESS_WAITING_MAX;
	if (!options->attempt_time.v) options->attempt_time.v = EGRESS_ATTEMPT_MS * US_PER_MS;
	if (!options->start_time.v) options->start_time.v = EGRESS_START_MS * US_PER_MS;
	options->attempts_max = attempts_that_fit(options->attempts_max);
}

enum err egress_open(struct egress **opened, const struct egress_options *options)
{
	struct egress *egress = *opened = calloc(1, sizeof *egress);
	enum err       err = ERR_IO;

	if (!egress) return ERR_NO_MEMORY;
	egress->options = *options;
	egress->options.ca = span_of(NULL, 0); /* borrowed for this call only */
	fill_in(&egress->options);
	for (unsigned i = 0; i < ATTEMPT_STATE_COUNT; i++)
		TAILQ_INIT(&egress->in[i]);
	for (unsigned i = 0; i < LINE_COUNT; i++)
		TAILQ_INIT(&egress->line[i]);
	for (unsigned i = 0; i < RACE_WAITS; i++)
		TAILQ_INIT(&egress->races[i]);
	TAILQ_INIT(&egress->settling);
	egress->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (egress->epoll_fd < 0) goto out;
	if ((err = dial_open(egress))) goto out;
	if ((err = trust_open(&egress->trust, options->ca))) goto out;
	err = resolver_open(&egress->resolver, egress->epoll_fd, &options->resolver);
out:
	if (err) egress_close(opened);
	return err;
}

enum err egress_trust(struct egress *egress, struct span ca)
{
	return trust_change(egress->trust, ca);
}

void egress_close(struct egress **closed)
{
	struct egress  *egress = *closed;
	struct attempt *attempt;

	*closed = NULL;
	if (!egress) return;
	resolver_close(&egress->resolver);
	for (unsigned state = 0; state < ATTEMPT_STATE_COUNT; state++)
		while ((attempt = TAILQ_FIRST(&egress->in[state])))
			attempt_end(attempt);
	endpoints_free(egress);
	hosts_free(egress);
	dial_close(egress);
	trust_close(&egress->trust);
	if (egress->epoll_fd >= 0) close(egress->epoll_fd);
	free(egress);
}
