/* Shared by the servers of this folder: an address from the command line, a socket on it, and the line that says it is ready. */
#include "bench/listen.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

bool address_read(const char *text, struct sockaddr_in *address)
{
	const char *colon = strrchr(text, ':');
	char        host[64], *end;
	long        port = colon ? strtol(colon + 1, &end, 10) : -1;

	if (!colon || end == colon + 1 || *end || port < 0 || port > 65535) return false;
	if (colon - text >= (int)sizeof(host)) return false;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	address->sin_family = AF_INET;
	address->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

int listen_on(struct sockaddr_in *address)
{
	int       fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
	socklen_t size = sizeof(*address);

	if (fd < 0) return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on))) goto fail;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on))) goto fail;
	if (bind(fd, (struct sockaddr *)address, size) || listen(fd, BACKLOG)) goto fail;
	if (getsockname(fd, (struct sockaddr *)address, &size)) goto fail;
	return fd;
fail:
	close(fd);
	return -1;
}

void ready_print(const char *name, const struct sockaddr_in *address)
{
	char host[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &address->sin_addr, host, sizeof(host));
	printf("ready %s=%s:%u\n", name, host, ntohs(address->sin_port));
	fflush(stdout);
}
