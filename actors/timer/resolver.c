/* Name look-ups, by c-ares. libcurl's own resolver uses a thread for each, which lasts as long as a dead name server is waited
 * for: ten thousand endpoints could mean ten thousand threads. Names are used as they are. The host's search list would ask
 * the operator's own domain about foreign names.
 *
 * A name is looked up in the hosts file and at the name servers, in the system's order. A name in the hosts file is not looked
 * up elsewhere. At the name servers the two families are separate queries, so that a family without an answer does not delay
 * the other.
 *
 * c-ares reads the system's configuration when a channel is made. So the files are checked before each look-up, and after a
 * change a new channel is used. Earlier channels stay until their queries are answered. */
#include "actors/timer/resolver.h"
#include "schemas/limits.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/stat.h>

/* A silent server is waited for TRY_MS, then the next is tried; each round waits twice as long. */
enum { TRY_MS = 500, TRIES = 4 };
/* With those of older configurations. Above this, the oldest one's queries end unanswered. */
enum { CHANNELS_MAX = 8 };

/* The files that c-ares reads when it makes a channel, and how a change of a file is detected. */
static const char *const files[] = {"/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf",
                                    "/etc/svc.conf"};
enum { FILES = sizeof files / sizeof *files };
struct mark {
	dev_t           device;
	ino_t           inode;
	off_t           size;
	struct timespec modified, changed;
};

struct channel {
	TAILQ_ENTRY(channel) in_list;
	ares_channel ares;     /* queries name servers only */
	ares_channel hosts;    /* reads the hosts file only; opens no socket */
	char         order[3]; /* of the two: "bf", "fb", "b" or "f", as c-ares names them */
	uint32_t     open;     /* open queries */
};

struct resolver {
	TAILQ_HEAD(channels, channel)
	channels; /* the first is in use, the others are of earlier configurations */
	unsigned    channel_count;
	int         epoll_fd;
	char       *servers, *file; /* NULL: the system's */
	uint16_t    port;
	bool        closing;
	struct mark marks[FILES];
};

/* A name's look-up: at most two queries at once, one step of the order after the other. */
struct question {
	struct resolver    *resolver;
	struct channel     *channel;
	resolver_answer    *answer;
	void               *user;
	const char         *step;         /* in the channel's order */
	unsigned            open;         /* families being queried */
	bool                has_reported; /* addresses were reported */
	enum attempt_detail why;
	char                name[];
};

/* Channels ------------------------------------------------------------------------------------------------ */

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
	if (!channel) return;
	if (channel->ares) ares_destroy(channel->ares);
	if (channel->hosts) ares_destroy(channel->hosts);
	free(channel);
}

/* `lookups`: as in struct channel; NULL: the system's. */
static int ares_new(struct resolver *resolver, const char *lookups, ares_channel *made)
{
	struct ares_options options = {
	    .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
	    .timeout = TRY_MS,
	    .tries = TRIES,
	    .udp_port = resolver->port,
	    .sock_state_cb = on_socket,
	    .sock_state_cb_data = resolver,
	    .resolvconf_path = resolver->file,
	    .lookups = (char *)(uintptr_t)lookups, /* it is copied */
	};
	int which = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;

	if (lookups) which |= ARES_OPT_LOOKUPS;
	if (resolver->port) which |= ARES_OPT_UDP_PORT;
	if (resolver->file) which |= ARES_OPT_RESOLVCONF;
	return ares_init_options(made, &options, which);
}

/* The system's order of the two; unknown letters are skipped. */
static int read_order(struct resolver *resolver, char order[3])
{
	struct ares_options options = {0};
	ares_channel        system = NULL;
	int                 which = 0, status = ares_new(resolver, NULL, &system);
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

static enum err channel_new(struct resolver *resolver, struct channel **made)
{
	struct channel *channel = calloc(1, sizeof *channel);
	int             status = channel ? read_order(resolver, channel->order) : ARES_ENOMEM;

	if (!status) status = ares_new(resolver, "b", &channel->ares);
	if (!status) status = ares_new(resolver, "f", &channel->hosts);
	if (status) {
		channel_free(channel);
		return status == ARES_ENOMEM ? ERR_NO_MEMORY : ERR_IO;
	}
	if (resolver->servers && ares_set_servers_ports_csv(channel->ares, resolver->servers)) {
		channel_free(channel);
		return ERR_BAD_OPTION;
	}
	*made = channel;
	return OK;
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
	channel_free(channel);
}

/* Configuration ------------------------------------------------------------------------------------------- */

static void read_marks(const struct resolver *resolver, struct mark marks[FILES])
{
	memset(marks, 0, FILES * sizeof *marks); /* compared as bytes */
	for (unsigned i = 0; i < FILES; i++) {
		struct stat found;
		if (stat(i == 0 && resolver->file ? resolver->file : files[i], &found)) continue;
		marks[i].device = found.st_dev;
		marks[i].inode = found.st_ino;
		marks[i].size = found.st_size;
		marks[i].modified = found.st_mtim;
		marks[i].changed = found.st_ctim;
	}
}

/* If a file cannot be read or memory is out, the earlier channel stays in use, and the next look-up tries again. */
static void follow_files(struct resolver *resolver)
{
	struct mark     marks[FILES];
	struct channel *fresh;

	read_marks(resolver, marks);
	if (!memcmp(marks, resolver->marks, sizeof marks) || channel_new(resolver, &fresh)) return;
	memcpy(resolver->marks, marks, sizeof marks);
	if (resolver->channel_count == CHANNELS_MAX)
		drop(resolver, TAILQ_LAST(&resolver->channels, channels));
	add(resolver, fresh);
}

/* Questions ----------------------------------------------------------------------------------------------- */

/* The first addresses, in c-ares' order of preference, and the shortest of their lifetimes. */
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

static enum attempt_detail why_of(int status)
{
	switch (status) {
	case ARES_ENOTFOUND: return DETAIL_DNS_NO_NAME;
	case ARES_SUCCESS:
	case ARES_ENODATA: return DETAIL_DNS_NO_ADDRESS;
	case ARES_ETIMEOUT: return DETAIL_DNS_SILENT;
	default: return DETAIL_DNS_FAILED;
	}
}

/* Keeps the worse result of the two families: a name without an address in one family may have one in the other, for which no
 * server answered. */
static void note_why(struct question *question, int status)
{
	static const enum attempt_detail weight[] = {DETAIL_NONE, DETAIL_DNS_NO_ADDRESS, DETAIL_DNS_FAILED,
	                                             DETAIL_DNS_SILENT, DETAIL_DNS_NO_NAME};
	unsigned                         before = 0, now = 0;

	for (unsigned i = 0; i < sizeof weight / sizeof *weight; i++) {
		if (weight[i] == question->why) before = i;
		if (weight[i] == why_of(status)) now = i;
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

/* Called for each family, or once for both in the hosts file. */
static void on_answer(void *user, int status, int timeouts, struct ares_addrinfo *info)
{
	struct question *question = user;
	struct resolved  resolved = {0};
	bool             is_over;

	(void)timeouts;
	question->open--;
	if (status == ARES_SUCCESS && info) gather(info, &resolved);
	if (info) ares_freeaddrinfo(info);
	if (!resolved.count && *question->step == 'b') note_why(question, status);
	is_over = question->open == 0;
	if (is_over && !resolved.count && has_next(question) && status != ARES_EDESTRUCTION) {
		question->step++;
		ask_step(question);
		return;
	}
	resolved.is_last = is_over;
	if (is_over) question->channel->open--;
	if (is_over || resolved.count) report(question, &resolved);
	if (is_over) free(question);
}

/* Counts both before the first query, which may be answered at once. */
static void ask_step(struct question *question)
{
	static const int families[] = {AF_INET6, AF_INET};
	struct channel  *channel = question->channel;
	bool             is_file = *question->step == 'f';

	question->open = is_file ? 1 : 2;
	for (unsigned left = question->open, i = 0; i < left; i++) {
		struct ares_addrinfo_hints hints = {.ai_family = is_file ? AF_UNSPEC : families[i],
		                                    .ai_socktype = SOCK_STREAM};
		ares_getaddrinfo(is_file ? channel->hosts : channel->ares, question->name, NULL, &hints,
		                 on_answer, question);
	}
}

void resolver_ask(struct resolver *resolver, const char *name, resolver_answer *answer, void *user)
{
	size_t           size = strlen(name) + 1;
	struct question *question = malloc(sizeof *question + size);

	if (!question) {
		answer(user, &(struct resolved){.is_last = true});
		return;
	}
	follow_files(resolver);
	struct channel *channel = TAILQ_FIRST(&resolver->channels);
	*question = (struct question){resolver, channel, answer, user, channel->order, 0, false, DETAIL_NONE};
	memcpy(question->name, name, size);
	channel->open++;
	ask_step(question);
}

/* Turns --------------------------------------------------------------------------------------------------- */

/* Each channel ignores sockets that are not its own. */
void resolver_event(struct resolver *resolver, uint64_t data, uint32_t events)
{
	bool            broken = events & (EPOLLERR | EPOLLHUP);
	ares_socket_t   fd = (ares_socket_t)(uint32_t)data;
	ares_socket_t   readable = broken || events & EPOLLIN ? fd : ARES_SOCKET_BAD;
	ares_socket_t   writable = broken || events & EPOLLOUT ? fd : ARES_SOCKET_BAD;
	struct channel *channel;

	TAILQ_FOREACH(channel, &resolver->channels, in_list)
	{
		ares_process_fd(channel->ares, readable, writable);
	}
}

/* Handles timeouts of queries. */
void resolver_turn(struct resolver *resolver)
{
	struct channel *channel, *next;

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
	resolver->epoll_fd = epoll_fd;
	resolver->port = options->port;
	if (!copy_text(&resolver->servers, options->servers) || !copy_text(&resolver->file, options->file))
		goto out;
	read_marks(resolver, resolver->marks);
	if ((err = channel_new(resolver, &first))) goto out;
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
	ares_library_cleanup();
	free(resolver->servers);
	free(resolver->file);
	free(resolver);
}
