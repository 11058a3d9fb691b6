#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As much of an HTTP/1.1 answer as a load generator must know: its status, and where it ends.
 * Units: bytes. Errors: RESPONSE_BROKEN for what is not HTTP/1.x or has no length (chunked answers are not
 * read). */
struct response {
	int      status;
	size_t   head_bytes;
	uint64_t body_bytes;
	bool     closes; /* the server will close the connection after it */
};

enum response_read { RESPONSE_PARTIAL, RESPONSE_WHOLE_HEAD, RESPONSE_BROKEN };

/* Reads the head of the answer that begins at `bytes`; sets *response only for RESPONSE_WHOLE_HEAD. */
enum response_read response_head_read(const char *bytes, size_t size, struct response *response);
