/* Look-ups of hosts, by c-ares. libcurl's own resolver takes a thread for each, and a thread stays for as long as a dead
 * name server is waited for: ten thousand endpoints with one would be ten thousand threads. Names are taken as they stand:
 * the search list of the host is for people, and would ask the operator's own domain about a stranger's name.
 *
 * c-ares reads the system's configuration when a channel is made; so a channel is made anew now and then. The one before
 * stays until its last question has been answered: names whose servers are silent must not keep a new configuration out. */
#include "actors/timer/resolver.h"
#include "schemas/limits.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { TRY_MS = 1000, TRIES = 3, RENEW_S = 60 }; /* each try waits twice as long as the one before */

struct channel {
	ares_channel ares;
	uint32_t     open; /* questions */
};

struct resolver {
	struct channel *channel, *before; /* the latter may be NULL */
	int             epoll_fd;
	char           *servers; /* NULL: the system's */
	bool            closing;
	mono_us         made_at;
};

struct question {
	struct resolver *resolver;
	struct channel  *channel;
	resolver_answer *answer;
	void            *user;
};

static void on_socket(void *user, ares_socket_t fd, int readable, int writable)
{
	struct resolver   *resolver = user;
	struct epoll_event event = {.data.u64 = RESOLVER_EVENT | (uint32_t)fd};

	event.events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);
	if (!event.events)
		epoll_ctl(resolver->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	else if (epoll_ctl(resolver->epoll_fd, EPOLL_CTL_ADD, fd, &event) && errno == EEXIST)
		epoll_ctl(resolver->epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

static void channel_free(struct channel *channel)
{
	if (channel) ares_destroy(channel->ares);
	free(channel);
}

static enum err channel_new(struct resolver *resolver, struct channel **made)
{
	struct ares_options options = {
	    .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
	    .timeout = TRY_MS,
	    .tries = TRIES,
	    .sock_state_cb = on_socket,
	    .sock_state_cb_data = resolver,
	};
	int             which = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
	struct channel *channel = calloc(1, sizeof *channel);
	int             status = channel ? ares_init_options(&channel->ares, &options, which) : ARES_ENOMEM;

	if (status) {
		free(channel);
		return status == ARES_ENOMEM ? ERR_NO_MEMORY : ERR_IO;
	}
	if (resolver->servers && ares_set_servers_ports_csv(channel->ares, resolver->servers)) {
		channel_free(channel);
		return ERR_BAD_OPTION;
	}
	*made = channel;
	return OK;
}

enum err resolver_open(struct resolver **made, int epoll_fd, const char *servers)
{
	struct resolver *resolver = calloc(1, sizeof *resolver);
	enum err         err = ERR_NO_MEMORY;

	*made = NULL;
	if (!resolver || ares_library_init(ARES_LIB_INIT_ALL)) goto out;
	resolver->epoll_fd = epoll_fd;
	if (servers && !(resolver->servers = strdup(servers))) goto out;
	if ((err = channel_new(resolver, &resolver->channel))) goto out;
	*made = resolver;
	return OK;
out:
	if (resolver) free(resolver->servers);
	free(resolver);
	return err;
}

void resolver_close(struct resolver **closed)
{
	struct resolver *resolver = *closed;

	*closed = NULL;
	if (!resolver) return;
	resolver->closing = true;
	channel_free(resolver->before);
	channel_free(resolver->channel);
	ares_library_cleanup();
	free(resolver->servers);
	free(resolver);
}

/* The first addresses in the order of preference that c-ares gave them, and the shortest of their lives. */
static void gather(const struct ares_addrinfo *info, struct resolved *resolved)
{
	int lives_s = DNS_KEPT_S_MAX;

	for (const struct ares_addrinfo_node *node = info->nodes; node; node = node->ai_next) {
		if (resolved->count == RESOLVED_MAX) break;
		if (!address_of(node->ai_addr, &resolved->address[resolved->count])) continue;
		resolved->count++;
		if (node->ai_ttl < lives_s) lives_s = node->ai_ttl;
	}
	if (lives_s < DNS_KEPT_S_MIN) lives_s = DNS_KEPT_S_MIN;
	resolved->lives = (dur_us){lives_s * US_PER_SEC};
}

static void on_answer(void *user, int status, int timeouts, struct ares_addrinfo *info)
{
	struct question *question = user;
	struct resolved  resolved = {0};

	(void)timeouts;
	question->channel->open--;
	if (status == ARES_SUCCESS && info) gather(info, &resolved);
	if (info) ares_freeaddrinfo(info);
	if (!question->resolver->closing) question->answer(question->user, &resolved);
	free(question);
}

void resolver_ask(struct resolver *resolver, const char *name, resolver_answer *answer, void *user)
{
	struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct question           *question = malloc(sizeof *question);

	if (!question) {
		answer(user, &(struct resolved){0});
		return;
	}
	*question = (struct question){resolver, resolver->channel, answer, user};
	resolver->channel->open++;
	ares_getaddrinfo(resolver->channel->ares, name, NULL, &hints, on_answer, question);
}

/* Whose socket it is, each sees: a stranger's it passes over. */
void resolver_event(struct resolver *resolver, uint64_t data, uint32_t events)
{
	bool          broken = events & (EPOLLERR | EPOLLHUP);
	ares_socket_t fd = (ares_socket_t)(uint32_t)data;
	ares_socket_t readable = broken || events & EPOLLIN ? fd : ARES_SOCKET_BAD;
	ares_socket_t writable = broken || events & EPOLLOUT ? fd : ARES_SOCKET_BAD;

	ares_process_fd(resolver->channel->ares, readable, writable);
	if (resolver->before) ares_process_fd(resolver->before->ares, readable, writable);
}

static void renew(struct resolver *resolver, mono_us now)
{
	struct channel *fresh;

	if (resolver->made_at.v && mono_since(now, resolver->made_at).v < RENEW_S * US_PER_SEC) return;
	if (resolver->made_at.v && channel_new(resolver, &fresh) == OK) {
		resolver->before = resolver->channel;
		resolver->channel = fresh;
	}
	resolver->made_at = now;
}

/* What its questions wait for may have lasted too long. */
static void look_at_time(struct channel *channel)
{
	if (channel && channel->open) ares_process_fd(channel->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

void resolver_turn(struct resolver *resolver, mono_us now)
{
	look_at_time(resolver->channel);
	look_at_time(resolver->before);
	if (resolver->before && resolver->before->open == 0) {
		channel_free(resolver->before);
		resolver->before = NULL;
	}
	if (!resolver->before) renew(resolver, now);
}

bool resolver_is_busy(const struct resolver *resolver)
{
	return resolver->channel->open || (resolver->before && resolver->before->open);
}
