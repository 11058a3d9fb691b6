#pragma once
#include "schemas/cause.h"
#include "schemas/span.h"

/* What the guard knows of a request's head so far. Zeroed at the start. */
struct head {
	size_t size; /* with its empty line; 0: incomplete */
	/* How the body is delimited: neither (no body), by length, or in chunks. */
	bool     chunked, has_length;
	uint64_t length;
	bool     expects; /* the client waits for "100 Continue" */
	/* Where the lines of these headers (and Expect) begin, so that a caller can hide them from the next
	 * parser. */
	uint16_t hidden[3];
	unsigned hidden_count;

	/* Offsets into the input, to identify the caller before the body arrives: the target's path, and the
	 * value of the last Authorization. */
	uint16_t path_at, path_size, authorization_at, authorization_size;
	unsigned authorizations;

	/* Bytes before the target; bytes of its scheme and authority: see guard_to_origin(). */
	uint16_t      front, excess;
	size_t        line, seen;            /* start of the first line not taken; bytes examined */
	bool          has_request_line, old; /* HTTP/1.0 */
	unsigned      headers, lengths, encodings, hosts, expectations;
	struct reason reason; /* of a refusal; a name in it points into the input */
};

/* Checks the raw head of a request as it arrives. `input` is the connection's bytes from the head on, longer with each call; a
 * body may follow. `head` is kept between calls. The verdict does not depend on how the bytes are split. Refuses, as early as
 * possible, every form that two parsers could read differently, and everything above our limits. Pure. Errors: that of
 * head->reason, ERR_INVALID_REQUEST, ERR_URI_TOO_LONG or ERR_HEAD_TOO_LARGE; the connection must then be closed. OK with
 * head->size 0: more bytes are needed. */
must_check enum err guard_take(struct head *head, struct span input);

/* The verdict on a complete head; an incomplete one is ERR_INVALID_REQUEST. */
must_check enum err guard_head(struct span input);

/* Converts a target in absolute form (RFC 9112, 3.2.2) to origin form. Scheme and authority are removed from the complete head
 * at `input`, an empty path becomes "/", and `head` is updated. The bytes before the target move up to it, so the head begins
 * later. Returns by how many bytes; usually 0. Errors: none. */
size_t guard_to_origin(struct head *head, uint8_t *input);

/* A header's value without surrounding blanks and tabs. */
struct span guard_trim(struct span value);

/* Splits a header line, which has no control characters: a name that is a token, a colon, a value without surrounding blanks.
 * CAUSE_NONE: well-formed. Otherwise the name is what stands before the colon, if there is one. */
must_check enum cause guard_field(struct span line, struct span *name, struct span *value);
