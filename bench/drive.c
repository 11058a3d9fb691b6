/* The loop of the load generator: one thread, one epoll.
 *
 * The pace says when a request is due, a ring holds the free connections; whenever both have one, a request
 * is begun. An answer frees its connection, which may take the next request at once, so a closed loop is one
 * recv and one send a request. The clock is read at each answer, not once a turn: a turn serves many
 * connections, and the last of them must not be charged with the time of the first.
 *
 * Lifetime of a request: taken from the pace -> begun on a connection -> answered, broken or timed out; what
 * the pace meant and never got a connection is unsent. Each path ends in exactly one count of a tally. */
#include "bench/drive.h"

#include "bench/conn.h"
#include "bench/pace.h"
#include "bench/plan.h"
#include "schemas/err.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	EVENTS_PER_TURN = 256,
	TICK_MS = 100,      /* between looks for late answers and connections to open again */
	GIVE_UP_FACTOR = 2, /* times the timeout without an answer or past the end: send no more */
};

struct driver {
	const struct options   *options;
	struct drive_result    *result;
	struct request_form     form;
	char                   *names; /* of --names, side by side */
	struct plan             plan;
	struct pace             pace;
	mono_ns                 measured_from;
	mono_ns                 last_answer_at;
	mono_ns                 next_tick_at;
	int                     epoll_fd;
	struct sockaddr_storage address;
	socklen_t               address_bytes;
	struct conn            *conns;
	uint32_t                busy_count;
	bool                    has_given_up;
	struct conn           **ring; /* free connections, the longest free one first */
	uint32_t                ring_first, ring_count;
};

static void ring_put(struct driver *driver, struct conn *conn)
{
	uint32_t size = driver->options->connection_count;

	if (conn->is_waiting) return;
	conn->is_waiting = true;
	must(driver->ring_count < size);
	driver->ring[(driver->ring_first + driver->ring_count++) % size] = conn;
}

/* The next free connection; one that broke while it stood here is passed over. NULL: none is free. */
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
	if (!conn_open(conn, driver->epoll_fd, (struct sockaddr *)&driver->address, driver->address_bytes))
		return false;
	ring_put(driver, conn);
	return true;
}

static struct tally *tally_of(struct driver *driver, bool is_measured)
{
	return is_measured ? &driver->result->measured : &driver->result->warmup;
}

/* The connection is lost, and with it the request it carried, if any. */
static void on_broken(struct driver *driver, struct conn *conn, enum fault fault)
{
	if (conn->state == CONN_BUSY) {
		tally_of(driver, conn->is_measured)->faults[fault]++;
		driver->busy_count--;
	}
	conn_close(conn);
	if (open_again(driver, conn)) driver->result->reconnect_count++;
}

static void on_answer(struct driver *driver, struct conn *conn, mono_ns now)
{
	struct tally *tally = tally_of(driver, conn->is_measured);
	int           status = conn->response.status;

	driver->busy_count--;
	driver->last_answer_at = now;
	tally->by_status[status]++;
	if (op_is_good(driver->options->op, status)) {
		tally->good_count++;
		histogram_add(&tally->latency_ns, (uint64_t)(now.v - conn->meant_at.v));
	} else {
		tally->faults[FAULT_STATUS]++;
	}
	if (conn->response.closes)
		on_broken(driver, conn, FAULT_BROKEN);
	else
		ring_put(driver, conn);
}

static uint32_t request_next(struct driver *driver, char *bytes)
{
	uint64_t number = plan_next(&driver->plan);

	return request_write(&driver->form, number, number - driver->options->choice.first, bytes);
}

/* Begins every request that is due, as far as there are free connections. */
static void send_due(struct driver *driver, mono_ns now)
{
	struct conn *conn;

	while (!driver->has_given_up && pace_is_due(&driver->pace, now) && (conn = ring_take(driver))) {
		conn->meant_at = pace_take(&driver->pace, now);
		conn->sent_at = now;
		conn->is_measured = conn->meant_at.v >= driver->measured_from.v;
		conn->request_bytes = request_next(driver, conn->request);
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

/* There is no hope: no answer for long, or still a queue that long after the end. */
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

static void run(struct driver *driver)
{
	const struct options *options = driver->options;
	struct drive_result  *result = driver->result;
	mono_ns               start = mono_now(), now = start, end;

	driver->measured_from = mono_plus(start, (int64_t)(options->warmup_s * (double)NS_PER_SEC));
	end = mono_plus(driver->measured_from, (int64_t)(options->seconds * (double)NS_PER_SEC));
	if (options->request_count) end = (mono_ns){INT64_MAX};
	driver->pace = (struct pace){.rate_per_s = options->rate_per_s, .start = start, .end = end};
	driver->pace.count_max = options->request_count ? options->request_count : UINT64_MAX;
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
	if (options->request_count || now.v > end.v) end = now;
	result->measured_s = (double)(end.v - driver->measured_from.v) / (double)NS_PER_SEC;
	result->active_s = (double)(end.v - start.v) / (double)NS_PER_SEC;
}

static bool resolve(struct driver *driver, const char *target)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char            host[256];
	const char     *port = strrchr(target, ':');
	const char     *name = target[0] == '[' ? target + 1 : target;
	int             name_bytes = port ? (int)(port - name) - (target[0] == '[') : 0;

	if (name_bytes <= 0 || name_bytes >= (int)sizeof(host)) return false;
	snprintf(host, sizeof(host), "%.*s", name_bytes, name);
	if (getaddrinfo(host, port + 1, &hints, &found) != 0) return false;
	memcpy(&driver->address, found->ai_addr, found->ai_addrlen);
	driver->address_bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return true;
}

/* A line for each pass that may be drawn. */
static const char *read_names(struct driver *driver)
{
	uint64_t    count = driver->options->choice.pass_count;
	FILE       *file = fopen(driver->options->names_path, "r");
	char        line[NAME_BYTES + 2];
	const char *wrong = NULL;

	if (!file) return "--names cannot be read";
	if (!(driver->names = calloc(count, NAME_BYTES))) wrong = "no memory";
	for (uint64_t i = 0; i < count && !wrong; i++) {
		if (!fgets(line, sizeof(line), file) || line[NAME_BYTES] != '\n')
			wrong = "--names has fewer lines than there are passes, or others than ids";
		else
			memcpy(driver->names + i * NAME_BYTES, line, NAME_BYTES);
	}
	fclose(file);
	return wrong;
}

static const char *prepare(struct driver *driver)
{
	const struct options  *options = driver->options;
	const char            *wrong = options->names_path ? read_names(driver) : NULL;
	struct request_subject subject = {options->id_prefix, driver->names};

	if (wrong) return wrong;
	if (!resolve(driver, options->target)) return "--target is no HOST:PORT that can be found";
	if (!request_form_make(&driver->form, options->op, options->target, options->key, &subject))
		return "host, key and prefix are too long";
	plan_init(&driver->plan, &options->choice);
	driver->conns = calloc(options->connection_count, sizeof(*driver->conns));
	driver->ring = calloc(options->connection_count, sizeof(*driver->ring));
	driver->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!driver->conns || !driver->ring || driver->epoll_fd < 0) return "no memory or descriptors";
	for (uint32_t i = 0; i < options->connection_count; i++)
		if (!open_again(driver, &driver->conns[i])) return "the server does not take the connections";
	prctl(PR_SET_TIMERSLACK, 1); /* ns; the default of 50 us would be added to every open-loop latency */
	return NULL;
}

bool drive(const struct options *options, struct drive_result *result)
{
	struct driver driver = {.options = options, .result = result, .epoll_fd = -1};
	const char   *wrong;

	memset(result, 0, sizeof(*result));
	if ((wrong = prepare(&driver)))
		fprintf(stderr, "load: %s (%s)\n", wrong, options->target);
	else
		run(&driver);
	for (uint32_t i = 0; driver.conns && i < options->connection_count; i++)
		conn_close(&driver.conns[i]);
	if (driver.epoll_fd >= 0) close(driver.epoll_fd);
	free(driver.conns);
	free(driver.ring);
	free(driver.names);
	return !wrong;
}
