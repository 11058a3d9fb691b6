#pragma once
#include "http/exchange.h"

/* The ways a request is answered; each is final and happens once. The bytes are copied. */

/* {"code","message","field"?,"request_id"}. An error that is ours alone is logged and shown as INTERNAL.
 * `field` at NULL: none is to blame; `message` of size 0: the table's. */
void answer_error(struct exchange *exchange, enum err err, struct span field, struct span message);

/* What a client may see of an error; what it may not is logged, and becomes ERR_INTERNAL. */
enum err answer_shown(const struct exchange *exchange, enum err err);

/* The headers that go with a status of refusal: Retry-After, Allow, WWW-Authenticate. */
void answer_error_headers(struct exchange *exchange, int status);

/* The kinds of answers of a route, from a shard's good reply. */
void answer_reply(struct exchange *exchange, const struct reply *reply);

/* The answer so far to an operation that has begun, of the kind BEGUN: kept until answer_reply() has the last, or
 * answer_begun() says 202 with it. Errors: an answer has been given, since it cannot be kept. */
void answer_keep(struct exchange *exchange, const struct reply *reply);
void answer_begun(struct exchange *exchange);

/* Frees what has come of a list, or was kept. Any request is fine. */
void answer_forget(struct exchange *exchange);

/* A body as it is. */
void answer_text(struct exchange *exchange, int status, const char *content_type, struct span body);

/* No body: 204, or 202 with a Content-Length of 0. */
void answer_empty(struct exchange *exchange, int status);

/* Adds a header to the answer to come. `name` is static; `value` is copied and must be visible ASCII. */
void answer_header(struct exchange *exchange, const char *name, struct span value);

/* As much of a field's name as an error shows: a caller may have made it a megabyte long. Cut between characters. */
struct span field_shown(struct span field);

/* The body of an error, for answer_error() and for h2o's own refusals. */
void error_body(struct buffer *out, enum err err, struct span field, struct span message,
                struct span request_id);

const char *reason_phrase(int status);
