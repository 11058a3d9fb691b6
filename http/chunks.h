#pragma once
#include "schemas/cause.h"
#include "schemas/span.h"

/* A chunked body as it comes in. Zeroed: at its begin. */
enum chunk_state { CHUNK_SIZE, CHUNK_DATA, CHUNK_DATA_END, CHUNK_TRAILER, CHUNK_DONE };

struct chunks {
	enum chunk_state state;
	uint64_t         left;    /* of the chunk's data */
	size_t           trailer; /* bytes of trailer lines so far */
	struct reason    reason;  /* of a refusal */
};

/* Decodes what has come of a chunked body, into `out`, which may be where `bytes` are: the first `*taken` of them are used
 * up and have become `*made` bytes. A line that is not whole is left for the next call, which begins at
 * what was not taken. Extensions and trailers of the right form are passed over. Pure.
 * Errors: that of chunks->reason, ERR_INVALID_REQUEST: another form than RFC 9112 gives, bare line feeds included. */
must_check enum err chunks_decode(struct chunks *chunks, struct span bytes, uint8_t *out, size_t *taken,
                                  size_t *made);
