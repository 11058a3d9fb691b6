#pragma once
#include <h2o.h>
#include <stdbool.h>

#include "bench/listen.h"

/* What the servers of this folder do with libh2o: one loop on one listening socket, HTTP/1.1, connections kept for the length
 * of a benchmark, and answers with a length. */
enum { SERVER_IDLE_MS = 3600 * 1000 }; /* until an idle connection is closed */

struct server {
	h2o_context_t    context;
	h2o_accept_ctx_t accept;
	h2o_socket_t    *listener;
};

typedef int (*server_handler)(h2o_handler_t *self, h2o_req_t *req); /* 0; -1: not handled (404) */

/* Every request goes to `on_request`; a body larger than `entity_bytes_max` is refused (413). Once in a process for all its
 * servers. */
void server_configure(h2o_globalconf_t *config, size_t entity_bytes_max, server_handler on_request);

/* Listens, sharing its port with others; over HTTPS, unless `tls` is NULL. *address gets the port that the kernel chose.
 * Errors: false and errno. */
bool server_open(struct server *server, h2o_globalconf_t *config, struct sockaddr_in *address, SSL_CTX *tls);

/* Runs until the loop fails, which ends the process, with one line on stderr in the name of `program`. */
void server_run(struct server *server, const char *program) __attribute__((noreturn));

/* `body` may be empty; it must live as long as the request. `type` is its Content-Type, NULL for none. */
void server_answer(h2o_req_t *req, int status, const char *reason, h2o_iovec_t body, const char *type);

/* The answer of a service without work: 202 without a body to a POST, and a constant of the size of a pass to a GET. False:
 * any other method, which is not answered. */
bool server_answer_constant(h2o_req_t *req);
