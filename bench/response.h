#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a load generator must know of an HTTP/1.1 answer: its status and its end. Units: bytes. Errors: RESPONSE_BROKEN: not
 * HTTP/1.x, or without a length (chunked answers are not supported). */
struct response {
	int      status;
	size_t   head_bytes;
	uint64_t body_bytes;
	bool     closes; /* the server will close the connection after it */
};

enum response_read { RESPONSE_PARTIAL, RESPONSE_WHOLE_HEAD, RESPONSE_BROKEN };

/* Reads the head of the answer that begins at `bytes`; sets *response only for RESPONSE_WHOLE_HEAD. */
enum response_read response_head_read(const char *bytes, size_t size, struct response *response);
