/* timer/socket.h: what is sent in several parts does not wait for the peer between them. */
#include "actors/timer/socket.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

Test(socket, a_small_part_is_sent_at_once)
{
	static const struct address loopback = {
	    {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}}; /* 127.0.0.1, as it is mapped */
	static const struct address_rules rules = {.allow_private = true};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t          size = sizeof address, option_size = sizeof(int);
	int                option = 0, fd, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(!bind(listener, (struct sockaddr *)&address, size) && !listen(listener, 1));
	cr_assert(!getsockname(listener, (struct sockaddr *)&address, &size));
	cr_assert_eq(socket_dial(&rules, &loopback, ntohs(address.sin_port), &fd), DIAL_BEGUN);
	cr_assert(!getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &option, &option_size));
	cr_expect(option);
	close(fd);
	close(listener);
}
