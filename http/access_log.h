#pragma once
#include "http/exchange.h"

/* A line of JSON for each answered request of the public listener, for --access-log: time, request_id, account, key_id,
 * method, route, status, bytes (of the body), us (from arrival in the loop to the answer). `route` is the row of schemas/api/,
 * never the path, which may contain a pass's name. Unknown values are null. The account is the one that the request's key or
 * link names, unless it was refused. The key's id comes from the shard.
 *
 * Serving threads only copy lines into a buffer of ACCESS_LOG_BYTES; one thread writes them. It may wait for a disk or a
 * reader, and retries failed writes. When the buffer is full, lines are dropped and counted. A line is never torn. Any thread
 * may call. */
struct access_log;
enum { ACCESS_LOG_BYTES = 1 << 20 };

/* `where`: a file, which is created if missing and retried if it cannot be opened; - is stderr. Errors: ERR_NO_MEMORY. */
must_check enum err access_log_open(const char *where, struct access_log **log);
/* Writes what is in the buffer, if that takes at most a second. NULL is fine. */
void access_log_close(struct access_log **log);

/* Call before a request is answered with `status` and a body of `size` bytes. `log` may be NULL. */
void access_log_request(struct access_log *log, const struct exchange *exchange, int status, size_t size);

/* Later lines go to the file with that name now, after a rotation or to another file. Returns at once. Errors: ERR_NO_MEMORY:
 * nothing changed. */
must_check enum err access_log_reopen(struct access_log *log, const char *where);

/* Adds a line with its newline, at most PIPE_BUF bytes. */
void access_log_put(struct access_log *log, struct span line);

/* Lines dropped so far; 0 for NULL. */
uint64_t access_log_dropped(struct access_log *log);
