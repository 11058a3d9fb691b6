/* Finds the addresses of APNs' host, and connects to the first that takes a connection (RFC 8305). */
#include "actors/timer/apns/apns_inside.h"

#include "actors/timer/socket.h"
#include "schemas/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { DIAL_MS = 10000 };

/* The host ------------------------------------------------------------------------------------------------- */

static bool has_address(const struct apns *apns, const struct address *address)
{
	for (unsigned i = 0; i < apns->address_count; i++)
		if (!memcmp(&apns->address[i], address, sizeof *address)) return true;
	return false;
}

static void on_resolved(void *user, const struct resolved *resolved)
{
	struct apns *apns = user;
	mono_us      until = mono_after(apns->now, resolved->lives);
	if (!apns->is_heard) apns->address_count = 0;
	apns->is_heard = true;
	if (resolved->is_last) apns->is_looked_up = false;
	if (!resolved->count) return;
	if (apns->address_count == 0 || until.v < apns->known_until.v) apns->known_until = until;
	for (unsigned i = 0; i < resolved->count && apns->address_count < RESOLVED_MAX; i++)
		if (!has_address(apns, &resolved->address[i]))
			apns->address[apns->address_count++] = resolved->address[i];
}

/* Is it being looked up? Begins it unless the host is known. */
static bool host_looks_up(struct apns *apns)
{
	bool is_known = apns->is_address ||
	                (apns->is_heard && apns->address_count && apns->now.v < apns->known_until.v);
	if (is_known || apns->is_looked_up) return apns->is_looked_up;
	apns->is_looked_up = true;
	apns->is_heard = false;
	apns->asked_at = apns->now;
	resolver_ask(apns->resolver, 0, apns->host, on_resolved, apns);
	return apns->is_looked_up;
}

/* One family is known; the other may still come for a moment. */
static bool may_family_come(const struct apns *apns)
{
	return apns->is_looked_up &&
	       mono_since(apns->now, apns->asked_at).v < EGRESS_FAMILY_LATE_MS * US_PER_MS;
}

/* Runners -------------------------------------------------------------------------------------------------- */

static void runner_close(struct apns_runner *runner)
{
	if (runner->fd < 0) return;
	close(runner->fd); /* which also removes it from epoll */
	runner->fd = -1;
	runner->dialling->open--;
}

/* An event of the same batch may be of a runner that was closed meanwhile. */
static void on_event(struct source *source, uint32_t events)
{
	struct apns_runner *runner = (struct apns_runner *)source;
	struct dialling    *dialling = runner->dialling;
	int                 error = 0, fd = runner->fd;
	socklen_t           size = sizeof error;
	(void)events;
	if (fd < 0) return;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size)) error = errno;
	if (error) {
		dialling->error = error;
		dialling->next_at = dialling->line->apns->now;
		runner_close(runner);
		return;
	}
	struct apns_line *line = dialling->line;
	epoll_ctl(line->apns->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	runner->fd = -1;
	dialling->open--;
	dialling_end(dialling);
	if (connection_begin(line, fd)) line_failed(line, false, "no memory");
}

static bool was_tried(const struct dialling *dialling, const struct address *address)
{
	for (unsigned i = 0; i < dialling->count; i++)
		if (!memcmp(&dialling->runners[i].address, address, sizeof *address)) return true;
	return false;
}

static const struct address *next_address(const struct dialling *dialling)
{
	const struct apns *apns = dialling->line->apns;
	for (unsigned i = 0; i < apns->address_count && dialling->count < RESOLVED_MAX; i++)
		if (!was_tried(dialling, &apns->address[i])) return &apns->address[i];
	return NULL;
}

/* Is it in progress? */
static bool runner_begin(struct dialling *dialling, const struct address *address)
{
	struct apns        *apns = dialling->line->apns;
	struct apns_runner *runner = &dialling->runners[dialling->count++];
	*runner = (struct apns_runner){
	    .source.on_event = on_event, .dialling = dialling, .address = *address, .fd = -1};
	enum dialled dialled = socket_dial(apns->options.rules, address, apns->options.port, &runner->fd);
	dialling->is_forbidden |= dialled == DIAL_FORBIDDEN;
	if (dialled == DIAL_FAILED || dialled == DIAL_LACKED) dialling->error = errno;
	if (dialled != DIAL_BEGUN) return false;
	dialling->open++;
	if (source_watch(apns, &runner->source, runner->fd, EPOLLOUT)) return true;
	runner_close(runner);
	return false;
}

/* The dialling --------------------------------------------------------------------------------------------- */

static void fail(struct dialling *dialling, bool is_late)
{
	struct apns_line  *line = dialling->line;
	char               reason[PUSH_REASON_TEXT];
	const struct apns *apns = line->apns;
	if (dialling->error)
		snprintf(reason, sizeof reason, "connecting to %.60s:%u: %s", apns->host, apns->options.port,
		         strerrordesc_np(dialling->error));
	else if (dialling->is_forbidden)
		snprintf(reason, sizeof reason, "its address may not be called");
	else if (is_late)
		snprintf(reason, sizeof reason, "connecting to %.60s:%u: no answer; allow outgoing TCP to it",
		         apns->host, apns->options.port);
	else
		snprintf(reason, sizeof reason, "%.60s has no address: check this host's name servers",
		         apns->host);
	dialling_end(dialling);
	line_failed(line, false, reason);
}

void dialling_turn(struct dialling *dialling)
{
	struct apns          *apns = dialling->line->apns;
	const struct address *next;
	bool                  is_looked_up = host_looks_up(apns);
	if (apns->now.v >= dialling->due.v) {
		fail(dialling, true);
		return;
	}
	while (apns->now.v >= dialling->next_at.v && (next = next_address(dialling)))
		if (runner_begin(dialling, next))
			dialling->next_at = mono_after(apns->now, (dur_us){EGRESS_STAGGER_MS * US_PER_MS});
	bool awaits = dialling->count ? may_family_come(apns) : is_looked_up;
	if (!dialling->open && !next_address(dialling) && !awaits) fail(dialling, false);
}

mono_us dialling_due(const struct dialling *dialling)
{
	return next_address(dialling) && dialling->next_at.v < dialling->due.v ? dialling->next_at
	                                                                       : dialling->due;
}

enum err dialling_begin(struct apns_line *line)
{
	struct dialling *dialling = line->dialling = calloc(1, sizeof *dialling);
	if (!dialling) return ERR_NO_MEMORY;
	dialling->line = line;
	dialling->next_at = line->apns->now;
	dialling->due = mono_after(line->apns->now, (dur_us){DIAL_MS * US_PER_MS});
	TAILQ_INSERT_TAIL(&line->apns->diallings, dialling, link);
	return OK;
}

void dialling_end(struct dialling *dialling)
{
	struct apns *apns = dialling->line->apns;
	for (unsigned i = 0; i < dialling->count; i++)
		runner_close(&dialling->runners[i]);
	dialling->line->dialling = NULL;
	dialling->line = NULL;
	TAILQ_REMOVE(&apns->diallings, dialling, link);
	TAILQ_INSERT_TAIL(&apns->dead_diallings, dialling, link);
}
