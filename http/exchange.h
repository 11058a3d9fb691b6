#pragma once
#include "http/connection.h"

/* One request and its answer, from its arrival until the answer is written. Lives in h2o's pool of the request; when that is
 * disposed of, a call still under way is forgotten. */
struct exchange {
	struct pending      pending; /* first */
	struct http_thread *thread;
	struct connection  *connection;
	h2o_req_t          *req;
	h2o_generator_t     generator;
	const struct route *route; /* NULL: none found */
	mono_us             begun;
	struct span         path, query; /* of the target, as sent: before and after the question mark */
	struct span         id;          /* X-Request-Id */
	uint32_t            shard;       /* that was asked */
	bool                has_account, has_key_id; /* for the access log */
	bool                is_unread;               /* its head could not be read */
	struct account_id   account;                 /* that its key or link names */
	struct uuid         key_id;                  /* as the shard says, if it was asked to */
	struct span         origin;                  /* an allowed CORS origin, or of size 0 */
	bool                without_body;            /* HEAD */
	unsigned            allow;                   /* for 405 */
	enum err            edge;                    /* found wrong here, told once AUTH has come back good */
	struct span         edge_field, edge_message;
	H2O_VECTOR(h2o_iovec_t) parts; /* of a list, so far */
	/* What was asked for has begun: its answer so far, in `parts`, if nothing better comes. */
	bool   has_begun, begun_replayed;
	size_t parts_bytes;
	bool   parts_have_items;
};

/* What we look at among a request's headers; of size 0 when absent. */
struct request_headers {
	struct span authorization, content_type, request_id, origin, preflight_method;
	struct span idempotency_key, if_none_match;
	unsigned    authorizations, idempotency_keys; /* how many */
	bool        is_coded;                         /* a Content-Encoding other than `identity` */
};

/* Begins a request of either listener and reads its headers. On an error, which the connection has found, the request has
 * been answered; but of too large a body and of one without a key only the connection's `refusal` tells: other errors come first. Errors:
 * those of guard_take(), ERR_OVERLOADED. */
must_check enum err exchange_begin(h2o_req_t *req, struct exchange **exchange,
                                   struct request_headers *headers);

/* Begins a call to the shard of head->account; the rest of the head is filled in here. On OK the caller appends the array of
 * arguments to *arguments, then calls exchange_send(), or exchange_abort(): then nothing was begun. Errors: those of
 * thread_call(). */
must_check enum err exchange_call(struct exchange *exchange, struct call *head, struct buffer **arguments);
void                exchange_send(struct exchange *exchange);
void                exchange_abort(struct exchange *exchange);

/* To be called with every reply, before anything is made of it. */
void exchange_heard(struct exchange *exchange, const struct reply *reply);

/* An id for X-Request-Id that no other request of this process has; lives in the request's pool. */
struct span exchange_own_id(struct http_thread *thread, h2o_req_t *req);
