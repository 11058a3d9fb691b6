/* Keeping a waiting connection registered with epoll.
 *
 * h2o takes a connection out of epoll while its handler works and puts it back for the next request. Where
 * the answer comes a turn later, as all of ours do, that is an epoll_ctl() each way for every request, about
 * a seventh of this process' time. So reading is started again at once, but with a callback of ours and with
 * the order not to touch the bytes: the request's head lies in the same buffer, which must not move under it.
 * A client that waits for its answer sends nothing, and nothing happens. One that does send (the next request
 * ahead of time, or its end) is dropped from epoll then, which is what h2o would have done in the first
 * place. */
#include "http/hold.h"

static void on_early_bytes(h2o_socket_t *socket, const char *error)
{
	(void)error; /* whoever reads next, after the answer, meets the same error */
	h2o_socket_read_stop(socket);
}

static h2o_socket_t *socket_of(h2o_req_t *req)
{
	return req->conn->callbacks->get_socket(req->conn);
}

void hold_begin(h2o_req_t *req)
{
	h2o_socket_t *socket = socket_of(req);
	if (socket->ssl) return;
	h2o_socket_dont_read(socket, 1);
	h2o_socket_read_start(socket, on_early_bytes);
}

/* From here to the end of the write the answer no longer points into the buffer, and bytes may be read again.
 */
void hold_end(h2o_req_t *req)
{
	h2o_socket_t *socket = socket_of(req);
	if (!socket->ssl) h2o_socket_dont_read(socket, 0);
}
