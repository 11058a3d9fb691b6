#pragma once
#include "http/exchange.h"

/* The ways to answer a request. A request is answered once. The bytes are copied. */

/* {"code","message","field"?,"request_id"}. An internal error is logged and shown as INTERNAL. `field.at` NULL: no field is at
 * fault; `message.size` 0: the message of the table. */
void answer_error(struct exchange *exchange, enum err err, struct span field, struct span message);

/* The error that a client may see. Any other is logged and becomes ERR_INTERNAL. */
enum err answer_shown(const struct exchange *exchange, enum err err);

/* Adds the headers of a refusal's status: Retry-After, Allow, WWW-Authenticate. */
void answer_error_headers(struct exchange *exchange, int status);

/* Answers with a shard's good reply, by the route's kind of answer. */
void answer_reply(struct exchange *exchange, const struct reply *reply);

/* answer_keep() keeps the preliminary answer of an operation of kind BEGUN. Later answer_reply() sends the final one, or
 * answer_begun() sends the kept one with 202. If it cannot be kept, an error is sent at once. */
void answer_keep(struct exchange *exchange, const struct reply *reply);
void answer_begun(struct exchange *exchange);

/* answer_part() keeps a copy of a part of a body; answer_parts() sends the parts in their order. Errors: those of
 * connection_charge_answer(), ERR_NO_MEMORY. */
must_check enum err answer_part(struct exchange *exchange, struct span part);
void                answer_parts(struct exchange *exchange, int status, const char *content_type);

/* Frees the parts. Any request is fine. */
void answer_forget(struct exchange *exchange);

/* Sends a body unchanged. */
void answer_text(struct exchange *exchange, int status, const char *content_type, struct span body);

/* Sends a body of `count` pieces, which live until the request is disposed of; `size` bytes in all. Without pieces: HEAD. */
void answer_pieces(struct exchange *exchange, const char *content_type, h2o_iovec_t *pieces, size_t count,
                   size_t size);

/* No body: 204, or 202 with a Content-Length of 0. */
void answer_empty(struct exchange *exchange, int status);

/* Adds a header to the answer. `name` is static; `value` is copied and must be visible ASCII. */
void answer_header(struct exchange *exchange, const char *name, struct span value);

const char *reason_phrase(int status);
