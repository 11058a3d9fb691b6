/* The listening sockets. The supervisor binds them before it starts or changes anything, and http inherits them. Connections
 * that arrive during a restart of http wait in the queue instead of being refused. */
#include "actors/supervisor/listen.h"
#include "actors/rt/log.h"
#include "actors/rt/options.h"
#include "schemas/limits.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BACKLOG = 1024,
	/* How long sent data may stay unacknowledged if http does not act. Accepted connections inherit it. http
	 * closes such connections itself, and counts them, after at most two of its windows, so it is first. */
	USER_TIMEOUT_MS = 3 * PACE_MS,
	/* Bytes of an answer that the kernel takes beyond what is on its way to the client. By default it takes megabytes from
	 * clients that read nothing. Also inherited. */
	UNSENT_BYTES = 128 << 10,
	/* The http process of a service that was killed may hold the port for a moment. */
	IN_USE_TRIES = 20,
	IN_USE_REST_MS = 50,
};

static void set_option(int fd, int level, int name, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof value) < 0)
		log_warn("socket_option", "level=%d name=%d error=\"%s\"", level, name, strerror(errno));
}

/* -1, with errno, on failure. */
static int bind_one(const struct addrinfo *to)
{
	int fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, to->ai_protocol);
	int error;

	if (fd < 0) return -1;
	set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS);
	set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES);
	if (bind(fd, to->ai_addr, to->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static unsigned bound_port(int fd)
{
	struct sockaddr_storage own;
	socklen_t               size = sizeof own;

	if (getsockname(fd, (struct sockaddr *)&own, &size) < 0) return 0;
	return ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
	                                       : ((struct sockaddr_in *)&own)->sin_port);
}

/* A name may have several addresses: the first local one is used, unless it is in use. -1, with errno, on failure. */
static int bind_first(const struct addrinfo *found)
{
	int fd = -1;

	errno = 0;
	for (const struct addrinfo *to = found; to && fd < 0 && errno != EADDRINUSE; to = to->ai_next)
		fd = bind_one(to);
	return fd;
}

enum err listen_open(const char *option, const char *host_port, int *fd, char address[ADDRESS_TEXT])
{
	struct addrinfo  hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	char             host[HOST_TEXT], service[8];
	uint16_t         port;
	int              problem;

	must(host_port_read(host_port, host, &port));
	snprintf(service, sizeof service, "%u", port);
	problem = getaddrinfo(host, service, &hints, &found);
	if (problem) {
		log_fatal("cannot_listen", "option=%s address=%s error=\"%s\"", option, host_port,
		          gai_strerror(problem));
		return ERR_BAD_OPTION;
	}
	for (int tries = IN_USE_TRIES; (*fd = bind_first(found)) < 0 && errno == EADDRINUSE && tries; tries--)
		(void)!poll(NULL, 0, IN_USE_REST_MS);
	if (*fd < 0)
		log_fatal("cannot_listen", "option=%s address=%s error=\"%s\"", option, host_port,
		          strerror(errno));
	freeaddrinfo(found);
	if (*fd < 0) return ERR_IO;
	snprintf(address, ADDRESS_TEXT, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, bound_port(*fd));
	return OK;
}
