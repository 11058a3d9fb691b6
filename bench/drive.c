/* The loop of the load generator: one thread, one epoll.
 *
 * The pace says when a request is due, and a ring holds the free connections. A request begins when it is due and a connection
 * is free. An answer frees its connection, which may take the next request at once, so a closed loop is one recv and one send
 * a request. The clock is read at each answer, not once a turn: a turn serves many connections, and otherwise the last would
 * be charged the time of the first.
 *
 * Lifetime of a request: taken from the pace, begun on a connection, then answered, broken or timed out. A request that was
 * due and never got a connection is unsent. Each ends in exactly one count of a tally. */
#include "bench/drive.h"

#include "bench/conn.h"
#include "bench/pace.h"
#include "bench/script.h"
#include "bench/sources.h"
#include "schemas/err.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	EVENTS_PER_TURN = 256,
	TICK_MS = 100,      /* between checks for late answers and connections to reopen */
	OPEN_TRIES = 10,    /* for a connection before the first request; CONNECT_TIMEOUT_S each */
	GIVE_UP_FACTOR = 2, /* times the timeout, without an answer or past the end: stop sending */
};

struct driver {
	const struct options *options;
	struct drive_result  *result;
	struct sources        sources;
	struct script         script;
	struct pace           pace;
	mono_ns               measured_from, measured_until;
	uint64_t              timely_count; /* successes between these, whenever they were due */
	mono_ns               last_answer_at;
	mono_ns               next_tick_at;
	FILE                 *trace; /* of --trace, or NULL */
	int                   epoll_fd;
	struct conn_target    target;
	struct conn          *conns;
	uint32_t              busy_count;
	bool                  has_given_up;
	struct conn         **ring; /* free connections, longest free first */
	uint32_t              ring_first, ring_count;
};

static void ring_put(struct driver *driver, struct conn *conn)
{
	uint32_t size = driver->options->connection_count;

	if (conn->is_waiting) return;
	conn->is_waiting = true;
	must(driver->ring_count < size);
	driver->ring[(driver->ring_first + driver->ring_count++) % size] = conn;
}

/* The next free connection, skipping broken ones; NULL: none is free. */
static struct conn *ring_take(struct driver *driver)
{
	while (driver->ring_count > 0) {
		struct conn *conn = driver->ring[driver->ring_first];

		driver->ring_first = (driver->ring_first + 1) % driver->options->connection_count;
		driver->ring_count--;
		conn->is_waiting = false;
		if (conn->state == CONN_IDLE) return conn;
	}
	return NULL;
}

static bool open_again(struct driver *driver, struct conn *conn)
{
	if (!conn_open(conn, driver->epoll_fd, &driver->target)) return false;
	ring_put(driver, conn);
	return true;
}

static struct tally *tally_of(struct driver *driver, mono_ns meant_at)
{
	return meant_at.v >= driver->measured_from.v ? &driver->result->measured : &driver->result->warmup;
}

/* The window of --windows for a request due then, or NULL. */
static struct tally *window_of(struct driver *driver, mono_ns meant_at)
{
	uint64_t since_ns = (uint64_t)(meant_at.v - driver->measured_from.v);

	if (!driver->result->windows || meant_at.v < driver->measured_from.v) return NULL;
	since_ns /= driver->options->window_ms * (uint64_t)NS_PER_MS;
	return since_ns < driver->result->window_count ? &driver->result->windows[since_ns] : NULL;
}

static void count_fault(struct driver *driver, mono_ns meant_at, enum fault fault)
{
	struct tally *window = window_of(driver, meant_at);

	tally_of(driver, meant_at)->faults[fault]++;
	if (window) window->faults[fault]++;
}

/* The connection is lost, and the request on it, if any. */
static void on_broken(struct driver *driver, struct conn *conn, enum fault fault)
{
	if (conn->state == CONN_BUSY) {
		count_fault(driver, conn->meant_at, fault);
		driver->busy_count--;
	}
	conn_close(conn);
	if (open_again(driver, conn)) driver->result->reconnect_count++;
}

static void trace(struct driver *driver, const struct conn *conn, mono_ns now)
{
	const uint64_t record[] = {conn->number, (uint64_t)conn->meant_at.v, (uint64_t)now.v};

	if (driver->trace && conn->meant_at.v >= driver->measured_from.v)
		fwrite(record, sizeof(record), 1, driver->trace);
}

static void on_answer(struct driver *driver, struct conn *conn, mono_ns now)
{
	struct tally       *window = window_of(driver, conn->meant_at);
	int                 status = conn->response.status;
	bool                is_good = op_is_good(conn->op, status);
	struct answer_times times = {(uint64_t)(now.v - conn->meant_at.v),
	                             (uint64_t)(now.v - conn->sent_at.v)};

	driver->busy_count--;
	driver->last_answer_at = now;
	driver->timely_count += is_good && now.v >= driver->measured_from.v &&
	                        now.v < driver->measured_until.v;
	tally_answer(tally_of(driver, conn->meant_at), status, is_good, times);
	if (window) tally_answer(window, status, is_good, times);
	if (is_good) trace(driver, conn, now);
	if (conn->response.closes)
		on_broken(driver, conn, FAULT_BROKEN);
	else
		ring_put(driver, conn);
}

/* Drops requests that have waited too long for a connection. */
static void lose_patience(struct driver *driver, mono_ns now)
{
	int64_t patience_ns = (int64_t)(driver->options->patience_s * (double)NS_PER_SEC);

	if (!patience_ns) return;
	while (pace_is_due(&driver->pace, now) && pace_next(&driver->pace, now).v < now.v - patience_ns)
		count_fault(driver, pace_take(&driver->pace, now), FAULT_ABANDONED);
}

/* Begins every due request while connections are free. */
static void send_due(struct driver *driver, mono_ns now)
{
	struct conn *conn;

	lose_patience(driver, now);
	while (!driver->has_given_up && pace_is_due(&driver->pace, now) && (conn = ring_take(driver))) {
		conn->meant_at = pace_take(&driver->pace, now);
		conn->sent_at = now;
		conn->request_bytes = script_next(&driver->script, conn->request, &conn->op);
		conn->number = driver->script.number;
		driver->busy_count++;
		if (conn_begin(conn, driver->epoll_fd) == CONN_BROKE) on_broken(driver, conn, FAULT_BROKEN);
	}
}

static void on_event(struct driver *driver, const struct epoll_event *event)
{
	struct conn    *conn = event->data.ptr;
	enum conn_event outcome = CONN_GOES_ON;
	mono_ns         now;

	if (conn->state == CONN_DOWN) return;
	if (event->events & EPOLLOUT && conn->state == CONN_BUSY)
		outcome = conn_flush(conn, driver->epoll_fd);
	if (outcome == CONN_GOES_ON && event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		outcome = conn_read(conn);
	if (outcome == CONN_GOES_ON) return;
	now = mono_now();
	if (outcome == CONN_ANSWERED)
		on_answer(driver, conn, now);
	else
		on_broken(driver, conn, FAULT_BROKEN);
	send_due(driver, now);
}

/* Is it time to give up: no answer for long, or a queue long after the end? */
static bool is_hopeless(const struct driver *driver, mono_ns now)
{
	int64_t patience_ns = (int64_t)(driver->options->timeout_s * (double)(NS_PER_SEC * GIVE_UP_FACTOR));

	return now.v - driver->last_answer_at.v > patience_ns || now.v - patience_ns > driver->pace.end.v;
}

static void on_tick(struct driver *driver, mono_ns now)
{
	int64_t timeout_ns = (int64_t)(driver->options->timeout_s * (double)NS_PER_SEC);

	for (uint32_t i = 0; i < driver->options->connection_count; i++) {
		struct conn *conn = &driver->conns[i];

		if (conn->state == CONN_BUSY && now.v - conn->sent_at.v > timeout_ns)
			on_broken(driver, conn, FAULT_TIMEOUT);
		else if (conn->state == CONN_DOWN && open_again(driver, conn))
			driver->result->reconnect_count++;
	}
	driver->has_given_up |= is_hopeless(driver, now);
	driver->next_tick_at = mono_plus(now, TICK_MS * NS_PER_MS);
}

static bool is_sending(const struct driver *driver, mono_ns now)
{
	return !driver->has_given_up && !pace_is_over(&driver->pace, now);
}

static void turn(struct driver *driver, mono_ns now)
{
	struct epoll_event events[EVENTS_PER_TURN];
	int64_t            wait_ns = driver->next_tick_at.v - now.v;
	int64_t            next_ns = pace_next(&driver->pace, now).v - now.v;
	struct timespec    wait;
	int                count;

	if (is_sending(driver, now) && driver->ring_count > 0 && next_ns < wait_ns) wait_ns = next_ns;
	if (wait_ns < 0) wait_ns = 0;
	wait = (struct timespec){.tv_sec = wait_ns / NS_PER_SEC, .tv_nsec = wait_ns % NS_PER_SEC};
	count = epoll_pwait2(driver->epoll_fd, events, EVENTS_PER_TURN, &wait, NULL);
	for (int i = 0; i < count; i++)
		on_event(driver, &events[i]);
}

static double seconds_between(mono_ns from, mono_ns to)
{
	return (double)(to.v - from.v) / (double)NS_PER_SEC;
}

static void run(struct driver *driver)
{
	const struct options *options = driver->options;
	struct drive_result  *result = driver->result;
	mono_ns               start = mono_now(), now = start, end;

	driver->measured_from = mono_plus(start, (int64_t)(options->warmup_s * (double)NS_PER_SEC));
	end = mono_plus(driver->measured_from, (int64_t)(options->seconds * (double)NS_PER_SEC));
	if (options->request_count) end = (mono_ns){INT64_MAX};
	driver->measured_until = end;
	driver->pace = (struct pace){
	    .rate_per_s = options->rate_per_s, .start = start, .turn = start, .end = end};
	driver->pace.count_max = options->request_count ? options->request_count : UINT64_MAX;
	if (options->warmup_rate_per_s) {
		driver->pace.turn = driver->measured_from;
		pace_begin_at(&driver->pace, options->warmup_rate_per_s);
	}
	driver->last_answer_at = start;
	driver->next_tick_at = mono_plus(start, TICK_MS * NS_PER_MS);
	while (is_sending(driver, now) || driver->busy_count > 0) {
		send_due(driver, now);
		turn(driver, now);
		now = mono_now();
		if (now.v >= driver->next_tick_at.v) on_tick(driver, now);
	}
	result->gave_up = driver->has_given_up;
	result->measured.faults[FAULT_UNSENT] = pace_untaken(&driver->pace);
	if (options->request_count) driver->measured_until = now;
	if (options->request_count || now.v > end.v) end = now;
	result->measured_s = seconds_between(driver->measured_from, end);
	result->active_s = seconds_between(start, end);
	double timely_s = seconds_between(driver->measured_from, driver->measured_until);
	result->goodput_per_s = timely_s > 0 ? (double)driver->timely_count / timely_s : 0;
}

/* Resolves --target; its host, without brackets, goes to `host`. */
static bool resolve(struct conn_target *found_target, const char *target, char *host, size_t host_bytes)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	const char     *port = strrchr(target, ':');
	const char     *name = target[0] == '[' ? target + 1 : target;
	int             name_bytes = port ? (int)(port - name) - (target[0] == '[') : 0;

	if (name_bytes <= 0 || name_bytes >= (int)host_bytes) return false;
	snprintf(host, host_bytes, "%.*s", name_bytes, name);
	if (getaddrinfo(host, port + 1, &hints, &found) != 0) return false;
	memcpy(&found_target->address, found->ai_addr, found->ai_addrlen);
	found_target->address_bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return true;
}

/* Raises the descriptor limit as far as possible; a lack shows when connections are opened. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit)) return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Retries: a listen queue full of our own connections accepts the next one late. */
static bool open_first(struct driver *driver, struct conn *conn)
{
	for (int tries = 0; tries < OPEN_TRIES; tries++)
		if (open_again(driver, conn)) return true;
	return false;
}

static const char *open_all(struct driver *driver)
{
	uint32_t count = driver->options->connection_count;

	raise_descriptors();
	driver->conns = calloc(count, sizeof(*driver->conns));
	driver->ring = calloc(count, sizeof(*driver->ring));
	driver->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!driver->conns || !driver->ring || driver->epoll_fd < 0) return "no memory or descriptors";
	for (uint32_t i = 0; i < count; i++)
		if (!open_first(driver, &driver->conns[i]))
			return driver->target.tls ? tls_client_fault(driver->target.tls)
			                          : "the server does not take the connections";
	return NULL;
}

static bool windows_new(struct driver *driver)
{
	const struct options *options = driver->options;
	struct drive_result  *result = driver->result;

	if (!options->window_ms) return true;
	result->window_count = (uint32_t)(options->seconds * 1000 / (double)options->window_ms);
	return (result->windows = calloc(result->window_count, sizeof(*result->windows)));
}

static const char *prepare(struct driver *driver)
{
	const struct options *options = driver->options;
	const char           *wrong = sources_read(&driver->sources, options);
	char                  host[256];
	struct script_sources script = {.op = options->op,
	                                .choice = options->choice,
	                                .host = options->target,
	                                .keys = driver->sources.keys,
	                                .key_count = driver->sources.key_count,
	                                .accounts = options->accounts,
	                                .account_theta = options->account_theta,
	                                .subject = {.id_prefix = options->id_prefix,
	                                            .names = driver->sources.names,
	                                            .account = options->account,
	                                            .tag = options->tag},
	                                .hot_percent = options->hot_percent};

	if (wrong) return wrong;
	if (!resolve(&driver->target, options->target, host, sizeof(host)))
		return "--target is no HOST:PORT that can be found";
	if (options->ca_path && !tls_client_new(&driver->target.tls, options->ca_path, host))
		return "--tls has no certificates to believe";
	if ((wrong = script_new(&driver->script, &script))) return wrong;
	if (!windows_new(driver)) return "no memory";
	if (options->trace_path && !(driver->trace = fopen(options->trace_path, "w")))
		return "--trace cannot be written";
	if ((wrong = open_all(driver))) return wrong;
	prctl(PR_SET_TIMERSLACK, 1); /* ns; the default of 50 us would add to every open-loop latency */
	return NULL;
}

bool drive(const struct options *options, struct drive_result *result)
{
	struct driver driver = {.options = options, .result = result, .epoll_fd = -1};
	const char   *wrong;

	memset(result, 0, sizeof(*result));
	if ((wrong = prepare(&driver)))
		fprintf(stderr, "load: %s\n", wrong);
	else
		run(&driver);
	if (driver.trace && fclose(driver.trace) && !wrong)
		fprintf(stderr, "load: %s\n", wrong = "--trace cannot be written");
	for (uint32_t i = 0; driver.conns && i < options->connection_count; i++)
		conn_close(&driver.conns[i]);
	if (driver.epoll_fd >= 0) close(driver.epoll_fd);
	free(driver.conns);
	free(driver.ring);
	script_free(&driver.script);
	sources_free(&driver.sources);
	tls_client_destroy(&driver.target.tls);
	return !wrong;
}
