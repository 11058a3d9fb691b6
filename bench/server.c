#include "bench/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ACCEPTS_PER_EVENT = 16,
	LOOP_WAIT_MS_MAX = 1000,
};

static const char constant_pass[] =
    "{\"id\":\"p123456\",\"visible\":{\"name\":\"Holder p123456\",\"points\":1250},\"hidden\":{},"
    "\"appearance\":null,\"qr_value\":\"p123456\",\"status\":\"issued\","
    "\"download_url\":\"http://127.0.0.1:8080/p/000102030405060708090a0b0c0d0e0f\","
    "\"reinstall_blocked\":false,\"loyalty_type\":\"balance\",\"balance\":1250,"
    "\"created_at\":\"2000-01-01T00:00:00.000Z\",\"updated_at\":\"2000-01-01T00:00:00.000Z\"}";

void server_configure(h2o_globalconf_t *config, size_t entity_bytes_max, server_handler on_request)
{
	h2o_hostconf_t *host;

	h2o_config_init(config);
	config->server_name = h2o_iovec_init(NULL, 0);
	config->http1.upgrade_to_http2 = 0;
	config->http1.req_timeout = SERVER_IDLE_MS;
	config->max_request_entity_size = entity_bytes_max;
	host = h2o_config_register_host(config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
	h2o_create_handler(h2o_config_register_path(host, "/", 0), sizeof(h2o_handler_t))->on_req =
	    on_request;
}

static void on_accept(h2o_socket_t *listener, const char *error)
{
	struct server *server = listener->data;
	h2o_socket_t  *socket;

	if (error) return;
	for (int i = 0; i < ACCEPTS_PER_EVENT && (socket = h2o_evloop_socket_accept(listener)); i++)
		h2o_accept(&server->accept, socket);
}

bool server_open(struct server *server, h2o_globalconf_t *config, struct sockaddr_in *address, SSL_CTX *tls)
{
	int fd = listen_on(address);

	if (fd < 0) return false;
	h2o_context_init(&server->context, h2o_evloop_create(), config);
	server->accept = (h2o_accept_ctx_t){.ctx = &server->context, .hosts = config->hosts, .ssl_ctx = tls};
	server->listener = h2o_evloop_socket_create(server->context.loop, fd, H2O_SOCKET_FLAG_DONT_READ);
	server->listener->data = server;
	h2o_socket_read_start(server->listener, on_accept);
	return true;
}

void server_run(struct server *server, const char *program)
{
	/* A signal ends the poll early, not the service. */
	while (h2o_evloop_run(server->context.loop, LOOP_WAIT_MS_MAX) == 0 || errno == EINTR)
		;
	fprintf(stderr, "%s: event loop: %s\n", program, strerror(errno));
	exit(1);
}

/* The length is always set: otherwise the library would chunk the answer or close the connection. */
void server_answer(h2o_req_t *req, int status, const char *reason, h2o_iovec_t body, const char *type)
{
	static h2o_generator_t generator;

	req->res.status = status;
	req->res.reason = reason;
	req->res.content_length = body.len;
	if (type)
		h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, type,
		               strlen(type));
	h2o_start_response(req, &generator);
	h2o_send(req, &body, body.len ? 1 : 0, H2O_SEND_STATE_FINAL);
}

bool server_answer_constant(h2o_req_t *req)
{
	h2o_iovec_t pass = h2o_iovec_init(constant_pass, sizeof(constant_pass) - 1);

	if (h2o_memis(req->method.base, req->method.len, H2O_STRLIT("POST")))
		server_answer(req, 202, "Accepted", h2o_iovec_init(NULL, 0), NULL);
	else if (h2o_memis(req->method.base, req->method.len, H2O_STRLIT("GET")))
		server_answer(req, 200, "OK", pass, "application/json");
	else
		return false;
	return true;
}
