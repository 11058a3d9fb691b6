#pragma once
#include "http/exchange.h"

/* A line of JSON for each answered request of the public listener, for --access-log: time, request_id, account, key_id,
 * method, route, status, bytes (of the body), us (from its arrival in the loop to its answer). `route` is the row of
 * schemas/api/, never the path, which may name a holder's pass; what is not known is null. The account is the one that the
 * request's key or link names, unless that was refused; the key's id is what the shard found.
 *
 * Threads that serve only put lines into a buffer of ACCESS_LOG_BYTES; one thread writes them. It may wait, for a disk or
 * a reader, and tries again what could not be written; when the buffer is full, lines are dropped and counted. A line is
 * never torn. Any thread may call. */
struct access_log;
enum { ACCESS_LOG_BYTES = 1 << 20 };

/* `where`: a file, which is made if need be and tried again when it cannot be opened; - for stderr.
 * Errors: ERR_NO_MEMORY. */
must_check enum err access_log_open(const char *where, struct access_log **log);
/* What is in the buffer is written, if that takes no longer than a second. NULL is fine. */
void access_log_close(struct access_log **log);

/* The request is about to be answered with `status` and a body of `size` bytes. `log` may be NULL. */
void access_log_request(struct access_log *log, const struct exchange *exchange, int status, size_t size);

/* Lines from now on go to the file that has that name by now: after the one that had it was moved away, or to another one.
 * Returns at once. Errors: ERR_NO_MEMORY: all is as before. */
must_check enum err access_log_reopen(struct access_log *log, const char *where);

/* Puts in a line with its newline, of at most PIPE_BUF bytes. */
void access_log_put(struct access_log *log, struct span line);

/* Lines dropped so far; 0 for NULL. */
uint64_t access_log_dropped(struct access_log *log);
