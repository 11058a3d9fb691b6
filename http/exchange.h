#pragma once
#include "http/agent.h"
#include "http/connection.h"

#define WALLET_PACKAGE_TYPE "application/vnd.apple.pkpass"

/* One request and its answer, from arrival until the answer is written. Lives in h2o's pool of the request. If that is
 * disposed of, an unfinished call is forgotten. */
struct wallet_answer;
struct phone;
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
	uint32_t            shard;       /* that was called */
	bool                has_account, has_key_id; /* for the access log */
	bool                has_key;                 /* that its shard is asked about */
	struct account_id   account;                 /* named by its key or link */
	struct uuid         key_id;                  /* from the shard, if requested */
	struct span         origin;                  /* an allowed CORS origin, or of size 0 */
	bool                without_body;            /* HEAD */
	enum agent          agent;                   /* of a page */
	unsigned            allow;                   /* for 405 */
	enum err            edge; /* an error found here, reported once AUTH has succeeded */
	struct span         edge_field, edge_message;
	H2O_VECTOR(h2o_iovec_t) parts; /* of a list, so far */
	/* The operation has begun: `parts` holds the preliminary answer, sent if no final one arrives. */
	bool                  has_begun, begun_replayed;
	size_t                parts_bytes;
	struct wallet_answer *wallet; /* of a package; in the pool; NULL: none */
	struct phone         *phone;  /* kept while a shard is asked for wallets; likewise */
	struct span           token;  /* of a link that is asked for; in `path` */
	bool                  parts_have_items;
};

/* The headers of a request that are used; of size 0 if absent. */
struct request_headers {
	struct span authorization, content_type, request_id, origin, preflight_method;
	struct span idempotency_key, if_none_match, if_modified_since, user_agent;
	unsigned    authorizations, idempotency_keys; /* how many */
	bool        takes_package;                    /* Accept names Apple's packages */
	bool        is_coded;                         /* has a Content-Encoding other than `identity` */
	bool        closes;                           /* Connection names `close` */
};

/* Begins a request of either listener and reads its headers. On an error, found by the connection, the request has been
 * answered. A body that is too large or malformed and a missing key are not errors here: the connection's `refusal` has them,
 * since other errors come first. Errors: those of guard_take(), ERR_OVERLOADED. */
must_check enum err exchange_begin(h2o_req_t *req, struct exchange **exchange,
                                   struct request_headers *headers);

/* Does a browser ask whether a page of another origin may send a request? */
bool exchange_is_preflight(const struct exchange *exchange, const struct request_headers *headers);

/* Begins a call to the shard of head->account and fills in the rest of the head. On OK the caller appends the array of
 * arguments to *arguments, then calls exchange_send(), or exchange_abort() to cancel. Errors: those of thread_call(). */
must_check enum err exchange_call(struct exchange *exchange, struct call *head, struct buffer **arguments);
/* As exchange_call(), with `on_reply` for the reply; on OK an array of `arguments` members has begun, and the caller packs them with
 * *packer. */
must_check enum err exchange_ask(struct exchange *exchange, struct call *head,
                                 void (*on_reply)(struct pending *pending, const struct reply *reply),
                                 uint32_t arguments, msgpack_packer *packer);
void                exchange_send(struct exchange *exchange);
void                exchange_abort(struct exchange *exchange);

/* Call with every reply, before it is used. */
void exchange_heard(struct exchange *exchange, const struct reply *reply);

/* A copy in the request's pool. */
struct span exchange_keep(struct exchange *exchange, struct span bytes);
