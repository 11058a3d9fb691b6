/* Name look-ups, by c-ares. libcurl's own resolver uses a thread for each, which lasts as long as a dead name server is waited
 * for: ten thousand endpoints could mean ten thousand threads. Names are used as they are. The host's search list would ask
 * the operator's own domain about foreign names.
 *
 * A name is looked up in the hosts file and at the name servers, in the system's order. A name in the hosts file is not looked
 * up elsewhere. At the name servers the two families are separate queries, so that a family without an answer does not delay
 * the other.
 *
 * All look-ups share a channel that speaks UDP only. c-ares restarts each query of a channel when the channel's TCP connection
 * fails, so one truncated answer would disturb all other names. So a look-up whose answer is truncated continues over TCP on a
 * channel of its own, a stream. A channel takes 75 KB, so there is a limit on streams, and one on those of an
 * owner. The others wait.
 *
 * c-ares reads the system's configuration when a channel is made. So the files are checked before each look-up, and after a
 * change a new channel is used. Earlier channels stay until their queries are answered. */
#include "actors/timer/resolver_inside.h"

#include <arpa/nameser.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* With those of older configurations. Above this, the oldest one's queries end unanswered. */
enum { CHANNELS_MAX = 8 };

/* The files that c-ares reads when it makes a channel. */
static const char *const files[FILES] = {"/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf",
                                         "/etc/svc.conf"};

/* Questions ----------------------------------------------------------------------------------------------- */

/* Keeps the worse result of the two families: a name without an address in one family may have one in the other, for which no
 * server answered. */
static void note_why(struct question *question, int status)
{
	static const enum attempt_detail weight[] = {DETAIL_NONE, DETAIL_DNS_NO_ADDRESS, DETAIL_DNS_FAILED,
	                                             DETAIL_DNS_SILENT, DETAIL_DNS_NO_NAME};
	unsigned                         before = 0, now = 0;

	for (unsigned i = 0; i < sizeof weight / sizeof *weight; i++) {
		if (weight[i] == question->why) before = i;
		if (weight[i] == resolver_why(status)) now = i;
	}
	if (now > before) question->why = weight[now];
}

static void ask_step(struct question *question);

static void report(struct question *question, struct resolved *resolved)
{
	if (question->resolver->closing) return;
	resolved->why = question->why ? question->why : DETAIL_DNS_NO_NAME;
	question->has_reported |= resolved->count > 0;
	question->answer(question->user, resolved);
}

/* Continues with the next step if the hosts file lacks the name, or the name servers say that it does not exist. */
static bool has_next(const struct question *question)
{
	bool is_none = question->why == DETAIL_DNS_NO_NAME || question->why == DETAIL_DNS_NO_ADDRESS;

	if (question->has_reported || !question->step[1] || question->resolver->closing) return false;
	return *question->step == 'f' || is_none;
}

static void question_free(struct question *question)
{
	question->channel->open--;
	if (question->stream) question->stream->question = NULL;
	free(question);
}

/* One of the open queries has ended. */
static void on_end(struct question *question, int status, struct resolved *resolved)
{
	bool is_over = --question->open == 0;

	if (!resolved->count && *question->step == 'b') note_why(question, status);
	if (is_over && !resolved->count && has_next(question) && status != ARES_EDESTRUCTION) {
		question->step++;
		ask_step(question);
		return;
	}
	resolved->is_last = is_over;
	if (is_over || resolved->count) report(question, resolved);
	if (is_over) question_free(question);
}

static void on_hosts(void *user, int status, int timeouts, struct ares_addrinfo *info)
{
	struct resolved resolved = {0};

	(void)timeouts;
	if (info) resolver_gather_hosts(info, &resolved);
	if (info) ares_freeaddrinfo(info);
	on_end(user, status, &resolved);
}

static void ask_servers(struct query *query, ares_channel ares);

static void wait_for_stream(struct question *question);

/* c-ares reports the last attempt. If it timed out, and an earlier one did not, a server has answered that it cannot. */
static int worst_of(const struct query *query, int status, int timeouts)
{
	bool has_failed = (unsigned)timeouts < query->question->channel->attempts && !query->is_truncated;

	return status == ARES_ETIMEOUT && has_failed ? ARES_ESERVFAIL : status;
}

static void on_answer(void *user, int status, int timeouts, unsigned char *answer, int size)
{
	struct query   *query = user;
	struct resolved resolved = {0};

	status = worst_of(query, status, timeouts);
	if (status == ARES_SUCCESS) status = resolver_gather(query->family, answer, size, &resolved);
	if (query->is_truncated || !resolver_is_truncated(status, answer, size)) {
		on_end(query->question, status, &resolved);
		return;
	}
	query->is_truncated = true;
	if (query->question->stream)
		ask_servers(query, query->question->stream->ares);
	else if (!query->question->is_waiting)
		wait_for_stream(query->question);
}

static void ask_servers(struct query *query, ares_channel ares)
{
	ares_query(ares, query->question->name, ns_c_in, query->family == AF_INET ? ns_t_a : ns_t_aaaa,
	           on_answer, query);
}

/* Counts all queries before the first, which may be answered at once. */
static void ask_step(struct question *question)
{
	static const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct channel                         *channel = question->channel;

	if (*question->step == 'f') {
		question->open = 1;
		ares_getaddrinfo(channel->hosts, question->name, NULL, &hints, on_hosts, question);
		return;
	}
	question->open = 2;
	question->queries[0] = (struct query){question, AF_INET6, false};
	question->queries[1] = (struct query){question, AF_INET, false};
	ask_servers(&question->queries[0], channel->ares);
	ask_servers(&question->queries[1], channel->ares);
}

/* Streams ------------------------------------------------------------------------------------------------- */

static void wait_for_stream(struct question *question)
{
	question->is_waiting = true;
	TAILQ_INSERT_TAIL(&question->resolver->waiting, question, in_waiting);
}

static void stop_waiting(struct question *question)
{
	question->is_waiting = false;
	TAILQ_REMOVE(&question->resolver->waiting, question, in_waiting);
}

/* Not for a stream whose events are being processed. Its queries end. */
static void stream_drop(struct stream *stream)
{
	struct resolver *resolver = stream->resolver;

	if (stream->question) stream->question->stream = NULL; /* it may live until its other family ends */
	if (stream->ares) ares_destroy(stream->ares);
	resolver->streams_of[stream->owner]--;
	resolver->streams[stream->place] = NULL;
	free(stream);
}

/* Queries the servers of the question's channel. */
static int stream_new(struct question *question, unsigned place)
{
	struct resolver *resolver = question->resolver;
	struct stream   *stream = calloc(1, sizeof *stream);
	int              status;

	if (!stream) return ARES_ENOMEM;
	*stream = (struct stream){.resolver = resolver, .owner = question->owner, .place = place};
	resolver->streams[place] = stream;
	resolver->streams_of[stream->owner]++;
	status = resolver_stream_open(stream, question->channel);
	if (status) {
		stream_drop(stream);
		return status;
	}
	stream->question = question;
	question->stream = stream;
	return OK;
}

/* Ends the question's truncated queries. It may be freed. */
static void end_truncated(struct question *question, int status)
{
	bool is_truncated[2] = {question->queries[0].is_truncated, question->queries[1].is_truncated};

	for (unsigned i = 0; i < 2; i++)
		if (is_truncated[i]) on_end(question, status, &(struct resolved){0});
}

static void stream_begin(struct question *question, unsigned place)
{
	bool is_truncated[2] = {question->queries[0].is_truncated, question->queries[1].is_truncated};
	int  status = stream_new(question, place);
	struct stream *stream = question->stream;

	stop_waiting(question);
	if (status) {
		end_truncated(question, status);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		if (is_truncated[i]) ask_servers(&question->queries[i], stream->ares);
	if (!stream->question) stream_drop(stream); /* all ended at once */
}

/* Ends streams that are done, and gives their places to those that wait. */
static void streams_turn(struct resolver *resolver)
{
	struct question *question, *next;
	unsigned         place = 0;

	for (unsigned i = 0; i < STREAMS_MAX; i++) {
		struct stream *stream = resolver->streams[i];
		if (!stream) continue;
		ares_process_fd(stream->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
		if (!stream->question) stream_drop(stream);
	}
	for (question = TAILQ_FIRST(&resolver->waiting); question; question = next) {
		next = TAILQ_NEXT(question, in_waiting);
		if (resolver->streams_of[question->owner] >= STREAMS_OF_OWNER_MAX) continue;
		while (place < STREAMS_MAX && resolver->streams[place])
			place++;
		if (place == STREAMS_MAX) break;
		stream_begin(question, place);
	}
}

/* Ends the look-ups of a channel. */
static void streams_end(struct resolver *resolver, const struct channel *channel)
{
	struct question *question, *next;

	for (unsigned i = 0; i < STREAMS_MAX; i++) {
		struct stream *stream = resolver->streams[i];
		if (stream && stream->question && stream->question->channel == channel) stream_drop(stream);
	}
	for (question = TAILQ_FIRST(&resolver->waiting); question; question = next) {
		next = TAILQ_NEXT(question, in_waiting);
		if (question->channel != channel) continue;
		stop_waiting(question);
		end_truncated(question, ARES_EDESTRUCTION);
	}
}

/* Changes of the configuration ---------------------------------------------------------------------------- */

static void read_marks(const struct resolver *resolver, struct file_mark marks[FILES])
{
	const char *paths[FILES];

	memcpy(paths, files, sizeof paths);
	if (resolver->file) paths[0] = resolver->file;
	file_marks(paths, FILES, marks);
}

static void add(struct resolver *resolver, struct channel *channel)
{
	TAILQ_INSERT_HEAD(&resolver->channels, channel, in_list);
	resolver->channel_count++;
}

static void drop(struct resolver *resolver, struct channel *channel)
{
	TAILQ_REMOVE(&resolver->channels, channel, in_list);
	resolver->channel_count--;
	streams_end(resolver, channel);
	resolver_channel_free(channel);
}

/* If a file cannot be read or memory is out, the earlier channel stays in use, and the next look-up tries again. */
static void follow_files(struct resolver *resolver)
{
	struct file_mark marks[FILES];
	struct channel  *fresh;

	read_marks(resolver, marks);
	if (!memcmp(marks, resolver->marks, sizeof marks) || resolver_channel_new(resolver, &fresh)) return;
	memcpy(resolver->marks, marks, sizeof marks);
	if (resolver->channel_count == CHANNELS_MAX)
		drop(resolver, TAILQ_LAST(&resolver->channels, channels));
	add(resolver, fresh);
}

/* Interface ----------------------------------------------------------------------------------------------- */

void resolver_ask(struct resolver *resolver, uint32_t owner, const char *name, resolver_answer *answer,
                  void *user)
{
	size_t           size = strlen(name) + 1;
	struct question *question = malloc(sizeof *question + size);

	if (!question) {
		answer(user, &(struct resolved){.is_last = true});
		return;
	}
	follow_files(resolver);
	struct channel *channel = TAILQ_FIRST(&resolver->channels);
	*question = (struct question){.resolver = resolver,
	                              .channel = channel,
	                              .owner = owner,
	                              .answer = answer,
	                              .user = user,
	                              .step = channel->order};
	memcpy(question->name, name, size);
	channel->open++;
	ask_step(question);
}

/* Turns --------------------------------------------------------------------------------------------------- */

/* A channel ignores sockets that are not its own. */
void resolver_event(struct resolver *resolver, uint64_t data, uint32_t events)
{
	bool            broken = events & (EPOLLERR | EPOLLHUP);
	ares_socket_t   fd = (ares_socket_t)(uint32_t)data;
	ares_socket_t   readable = broken || events & EPOLLIN ? fd : ARES_SOCKET_BAD;
	ares_socket_t   writable = broken || events & EPOLLOUT ? fd : ARES_SOCKET_BAD;
	uint64_t        place = data >> STREAM_SHIFT & STREAM_MASK;
	struct channel *channel;

	if (place) {
		struct stream *stream = resolver->streams[place - 1];
		if (stream) ares_process_fd(stream->ares, readable, writable);
		return;
	}
	TAILQ_FOREACH(channel, &resolver->channels, in_list)
	{
		ares_process_fd(channel->ares, readable, writable);
	}
}

/* Handles timeouts of queries. */
void resolver_turn(struct resolver *resolver)
{
	struct channel *channel, *next;

	streams_turn(resolver);
	for (channel = TAILQ_FIRST(&resolver->channels); channel; channel = next) {
		next = TAILQ_NEXT(channel, in_list);
		if (channel->open) ares_process_fd(channel->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
		if (channel->open == 0 && channel != TAILQ_FIRST(&resolver->channels))
			drop(resolver, channel);
	}
}

bool resolver_is_busy(const struct resolver *resolver)
{
	const struct channel *channel;

	TAILQ_FOREACH(channel, &resolver->channels, in_list)
	{
		if (channel->open) return true;
	}
	return false;
}

/* Open and close ------------------------------------------------------------------------------------------ */

static bool copy_text(char **to, const char *from)
{
	return !from || (*to = strdup(from));
}

enum err resolver_open(struct resolver **made, int epoll_fd, const struct resolver_options *options)
{
	struct resolver *resolver = calloc(1, sizeof *resolver);
	struct channel  *first;
	enum err         err = ERR_NO_MEMORY;

	*made = NULL;
	if (!resolver || ares_library_init(ARES_LIB_INIT_ALL)) goto out;
	TAILQ_INIT(&resolver->channels);
	TAILQ_INIT(&resolver->waiting);
	resolver->epoll_fd = epoll_fd;
	resolver->port = options->port;
	if (!copy_text(&resolver->servers, options->servers) || !copy_text(&resolver->file, options->file))
		goto out;
	read_marks(resolver, resolver->marks);
	if ((err = resolver_channel_new(resolver, &first))) goto out;
	add(resolver, first);
	*made = resolver;
	return OK;
out:
	if (resolver) {
		free(resolver->servers);
		free(resolver->file);
	}
	free(resolver);
	return err;
}

void resolver_close(struct resolver **closed)
{
	struct resolver *resolver = *closed;

	*closed = NULL;
	if (!resolver) return;
	resolver->closing = true;
	while (!TAILQ_EMPTY(&resolver->channels))
		drop(resolver, TAILQ_FIRST(&resolver->channels));
	for (unsigned i = 0; i < STREAMS_MAX; i++)
		if (resolver->streams[i]) stream_drop(resolver->streams[i]); /* these have ended */
	ares_library_cleanup();
	free(resolver->servers);
	free(resolver->file);
	free(resolver);
}
