#pragma once
#include "http/exchange.h"

/* Long answers are sent in slices, one of any connection in each turn of a thread. A body of megabytes would otherwise be copied,
 * and encrypted, in one piece while everybody else's answers wait. */

enum { SLICE_BYTES = 256 << 10 };

/* Sends the body, of `size` bytes in `count` pieces, after h2o_start_response(). The bytes stay until the request is disposed of;
 * the array of pieces is copied. */
void slices_send(struct exchange *exchange, const h2o_iovec_t *pieces, size_t count, size_t size);

/* Sends the next slice of the answer that waits longest; once a turn. True: there was one. */
bool slices_feed(struct http_thread *thread);

/* The request is disposed of. */
void slices_end(struct exchange *exchange);
