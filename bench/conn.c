/* A connection of the load generator. Usually a request is one send and one recv, and a search for the end of the head.
 * Everything else in this file is for other cases. */
#include "bench/conn.h"
#include "schemas/err.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

static bool watch(struct conn *conn, int epoll_fd, int change, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = conn};

	return epoll_ctl(epoll_fd, change, conn->fd, &event) == 0;
}

bool conn_open(struct conn *conn, int epoll_fd, const struct conn_target *target)
{
	struct timeval limit = {.tv_sec = CONNECT_TIMEOUT_S};
	int            on = 1;

	must(conn->state == CONN_DOWN);
	conn->fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (conn->fd < 0) return false;
	if (setsockopt(conn->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit))) goto fail;
	if (setsockopt(conn->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit))) goto fail;
	if (connect(conn->fd, (const struct sockaddr *)&target->address, target->address_bytes)) goto fail;
	if (setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on))) goto fail;
	if (target->tls && !(conn->tls = tls_begin(target->tls, conn->fd))) goto fail;
	if (fcntl(conn->fd, F_SETFL, O_NONBLOCK)) goto fail;
	if (!watch(conn, epoll_fd, EPOLL_CTL_ADD, EPOLLIN)) goto fail;
	conn->state = CONN_IDLE;
	return true;
fail:
	tls_end(&conn->tls);
	close(conn->fd);
	return false;
}

void conn_close(struct conn *conn)
{
	if (conn->state == CONN_DOWN) return;
	tls_end(&conn->tls);
	close(conn->fd);
	conn->state = CONN_DOWN;
}

enum conn_event conn_begin(struct conn *conn, int epoll_fd)
{
	must(conn->state == CONN_IDLE);
	conn->state = CONN_BUSY;
	conn->has_head = false;
	conn->input_bytes = 0;
	conn->sent_bytes = 0;
	return conn_flush(conn, epoll_fd);
}

enum conn_event conn_flush(struct conn *conn, int epoll_fd)
{
	bool        was_late = conn->sent_bytes > 0;
	const char *bytes = conn->request + conn->sent_bytes;
	size_t      size = conn->request_bytes - conn->sent_bytes;
	ssize_t     got = conn->tls ? tls_send(conn->tls, bytes, size)
	                            : send(conn->fd, bytes, size, MSG_NOSIGNAL);

	if (got < 0 && errno != EAGAIN && errno != EINTR) return CONN_BROKE;
	if (got > 0) conn->sent_bytes += (uint32_t)got;
	if (conn->sent_bytes < conn->request_bytes)
		return watch(conn, epoll_fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT) ? CONN_GOES_ON : CONN_BROKE;
	if (was_late && !watch(conn, epoll_fd, EPOLL_CTL_MOD, EPOLLIN)) return CONN_BROKE;
	return CONN_GOES_ON;
}

/* The input may complete the answer: then the connection is free again. */
static enum conn_event take_body(struct conn *conn, uint64_t arrived_bytes)
{
	if (arrived_bytes > conn->body_left_bytes) return CONN_BROKE;
	conn->body_left_bytes -= arrived_bytes;
	conn->input_bytes = 0;
	if (conn->body_left_bytes) return CONN_GOES_ON;
	conn->state = CONN_IDLE;
	return CONN_ANSWERED;
}

static enum conn_event take_head(struct conn *conn)
{
	switch (response_head_read(conn->input, conn->input_bytes, &conn->response)) {
	case RESPONSE_BROKEN: return CONN_BROKE;
	case RESPONSE_PARTIAL: return conn->input_bytes < CONN_INPUT_BYTES ? CONN_GOES_ON : CONN_BROKE;
	case RESPONSE_WHOLE_HEAD: break;
	}
	conn->has_head = true;
	conn->body_left_bytes = conn->response.body_bytes;
	return take_body(conn, conn->input_bytes - conn->response.head_bytes);
}

enum conn_event conn_read(struct conn *conn)
{
	enum conn_event outcome;
	size_t          room_bytes;
	ssize_t         got;

	do {
		char *room = conn->input + conn->input_bytes;

		room_bytes = CONN_INPUT_BYTES - conn->input_bytes;
		got = conn->tls ? tls_recv(conn->tls, room, room_bytes) : recv(conn->fd, room, room_bytes, 0);
		if (got < 0 && (errno == EAGAIN || errno == EINTR)) return CONN_GOES_ON;
		if (got <= 0 || conn->state != CONN_BUSY || conn->sent_bytes < conn->request_bytes)
			return CONN_BROKE;
		conn->input_bytes += (uint32_t)got;
		outcome = conn->has_head ? take_body(conn, (uint64_t)got) : take_head(conn);
	} while (outcome == CONN_GOES_ON &&
	         (size_t)got == room_bytes); /* epoll does not see what TLS has buffered */
	return outcome;
}
