#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "bench/clock.h"
#include "bench/request.h"
#include "bench/response.h"
#include "bench/tls.h"

/* One keep-alive connection with at most one request in flight, and the memory for both directions: a request allocates
 * nothing. States: DOWN -> IDLE (opened) -> BUSY (request begun) -> IDLE (answer read); DOWN at any failure. Units: bytes, ns.
 * Errors: as below; the caller counts them. */
enum conn_state { CONN_DOWN, CONN_IDLE, CONN_BUSY };

enum {
	CONN_INPUT_BYTES = 8192, /* a head must fit; a longer body is skipped */
	CONNECT_TIMEOUT_S = 1,   /* limit of each blocking step of opening, never reached on loopback */
};

/* Where connections go. */
struct conn_target {
	struct sockaddr_storage address;
	socklen_t               address_bytes;
	struct tls_client      *tls; /* NULL: without TLS */
};

struct conn {
	int             fd;
	struct ssl_st  *tls;    /* NULL: without */
	enum op         op;     /* of the request in flight */
	uint64_t        number; /* and its pass */
	enum conn_state state;
	bool            is_waiting; /* is in the ring of free connections */
	bool            has_head;
	mono_ns         meant_at; /* when the request in flight was due */
	mono_ns         sent_at;
	uint32_t        request_bytes, sent_bytes;
	uint32_t        input_bytes;
	uint64_t        body_left_bytes;
	struct response response;
	char            request[REQUEST_BYTES_MAX];
	char            input[CONN_INPUT_BYTES];
};

enum conn_event { CONN_GOES_ON, CONN_ANSWERED, CONN_BROKE };

/* Connects, does the TLS handshake if there is one, and watches the socket with `epoll_fd`. False, and DOWN: the server
 * refused. */
bool conn_open(struct conn *conn, int epoll_fd, const struct conn_target *target);

/* Closes the socket, which also ends the watching. */
void conn_close(struct conn *conn);

/* Sends request_bytes of `request`, or what the socket accepts; conn_flush sends the rest later. */
enum conn_event conn_begin(struct conn *conn, int epoll_fd);
enum conn_event conn_flush(struct conn *conn, int epoll_fd);

/* Reads what has arrived. CONN_ANSWERED: `response` is complete and the connection IDLE, or to be closed if the response says
 * so. CONN_BROKE: end of stream, an unexpected answer, or bytes that are no answer. */
enum conn_event conn_read(struct conn *conn);
