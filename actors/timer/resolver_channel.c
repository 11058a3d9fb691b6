/* c-ares channels: how they are set up, and how their sockets are watched. */
#include "actors/timer/resolver_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* A silent server is waited for TRY_MS, then the next is tried; each round waits twice as long. */
enum { TRY_MS = 500, TRIES = 4 };

/* `mark` is added to the events' data. */
static void watch(struct resolver *resolver, uint64_t mark, ares_socket_t fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u64 = RESOLVER_EVENT | mark | (uint32_t)fd};

	if (!events)
		epoll_ctl(resolver->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	else if (epoll_ctl(resolver->epoll_fd, EPOLL_CTL_ADD, fd, &event) && errno == EEXIST)
		epoll_ctl(resolver->epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

static uint32_t events_of(int readable, int writable)
{
	return (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);
}

static void on_socket(void *user, ares_socket_t fd, int readable, int writable)
{
	watch(user, 0, fd, events_of(readable, writable));
}

static void on_stream_socket(void *user, ares_socket_t fd, int readable, int writable)
{
	struct stream *stream = user;

	watch(stream->resolver, (uint64_t)(stream->place + 1) << STREAM_SHIFT, fd,
	      events_of(readable, writable));
}

void resolver_channel_free(struct channel *channel)
{
	if (!channel) return;
	if (channel->ares) ares_destroy(channel->ares);
	if (channel->hosts) ares_destroy(channel->hosts);
	free(channel);
}

/* `lookups`: as in struct channel; NULL: the system's. `stream`: NULL: UDP; a truncated answer is reported as it is. */
static int ares_new(struct resolver *resolver, const char *lookups, struct stream *stream, ares_channel *made)
{
	struct ares_options options = {
	    .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | (stream ? ARES_FLAG_USEVC : ARES_FLAG_IGNTC),
	    .timeout = TRY_MS,
	    .tries = TRIES,
	    .udp_port = resolver->port,
	    .tcp_port = resolver->port,
	    .sock_state_cb = stream ? on_stream_socket : on_socket,
	    .sock_state_cb_data = stream ? (void *)stream : resolver,
	    .resolvconf_path = resolver->file,
	    .lookups = (char *)(uintptr_t)lookups, /* it is copied */
	};
	int which = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;

	if (lookups) which |= ARES_OPT_LOOKUPS;
	if (resolver->port) which |= ARES_OPT_UDP_PORT | ARES_OPT_TCP_PORT;
	if (resolver->file) which |= ARES_OPT_RESOLVCONF;
	return ares_init_options(made, &options, which);
}

/* The system's order of the two; unknown letters are skipped. */
static int read_order(struct resolver *resolver, char order[3])
{
	struct ares_options options = {0};
	ares_channel        system = NULL;
	int                 which = 0, status = ares_new(resolver, NULL, NULL, &system);
	size_t              size = 0;

	if (!status) status = ares_save_options(system, &options, &which);
	for (const char *at = status || !options.lookups ? "" : options.lookups; *at; at++)
		if ((*at == 'f' || *at == 'b') && size < 2 && !memchr(order, *at, size)) order[size++] = *at;
	if (size == 0) memcpy(order, "fb", size = 2);
	order[size] = 0;
	if (!status) ares_destroy_options(&options);
	if (system) ares_destroy(system);
	return status;
}

static int count_attempts(struct channel *channel)
{
	struct ares_addr_port_node *servers = NULL;
	int                         status = ares_get_servers_ports(channel->ares, &servers);

	for (const struct ares_addr_port_node *server = servers; server; server = server->next)
		channel->attempts += TRIES;
	if (servers) ares_free_data(servers);
	return status;
}

enum err resolver_channel_new(struct resolver *resolver, struct channel **made)
{
	struct channel *channel = calloc(1, sizeof *channel);
	int             status = channel ? read_order(resolver, channel->order) : ARES_ENOMEM;

	if (!status) status = ares_new(resolver, "b", NULL, &channel->ares);
	if (!status) status = ares_new(resolver, "f", NULL, &channel->hosts);
	if (status) {
		resolver_channel_free(channel);
		return status == ARES_ENOMEM ? ERR_NO_MEMORY : ERR_IO;
	}
	if (resolver->servers && ares_set_servers_ports_csv(channel->ares, resolver->servers)) {
		resolver_channel_free(channel);
		return ERR_BAD_OPTION;
	}
	if (count_attempts(channel)) {
		resolver_channel_free(channel);
		return ERR_NO_MEMORY;
	}
	*made = channel;
	return OK;
}

int resolver_stream_open(struct stream *stream, const struct channel *channel)
{
	struct ares_addr_port_node *servers = NULL;
	int                         status = ares_new(stream->resolver, "b", stream, &stream->ares);

	if (!status) status = ares_get_servers_ports(channel->ares, &servers);
	if (!status) status = ares_set_servers_ports(stream->ares, servers);
	if (servers) ares_free_data(servers);
	return status;
}
