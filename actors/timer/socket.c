/* The only file that dials. */
#include "actors/timer/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

static socklen_t socket_address_of(const struct address *address, uint16_t port, struct sockaddr_storage *to)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct sockaddr_in   four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6  six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (!memcmp(address->byte, mapped, sizeof mapped)) {
		memcpy(&four.sin_addr, address->byte + sizeof mapped, sizeof four.sin_addr);
		memcpy(to, &four, sizeof four);
		return sizeof four;
	}
	memcpy(&six.sin6_addr, address->byte, sizeof six.sin6_addr);
	memcpy(to, &six, sizeof six);
	return sizeof six;
}

enum dialled socket_dial(const struct address_rules *rules, const struct address *address, uint16_t port,
                         int *fd)
{
	static const int        on = 1;
	struct sockaddr_storage to = {0};
	socklen_t               size = socket_address_of(address, port, &to);

	*fd = -1;
	if (!address_may_dial(rules, address)) return DIAL_FORBIDDEN;
	*fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0) return errno == EAFNOSUPPORT ? DIAL_FAILED : DIAL_LACKED;
	/* Or the last segment of what is sent waits until the peer acknowledges those before, which it does late. */
	(void)setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	/* A socket that is connected at once is writable at once. */
	if (!connect(*fd, (struct sockaddr *)&to, size) || errno == EINPROGRESS) return DIAL_BEGUN;
	int why = errno;
	close(*fd);
	*fd = -1;
	errno = why;
	return DIAL_FAILED;
}
