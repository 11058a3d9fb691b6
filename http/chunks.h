#pragma once
#include "schemas/cause.h"
#include "schemas/span.h"

/* A chunked body as it arrives. Zeroed at the start of a body. */
enum chunk_state { CHUNK_SIZE, CHUNK_DATA, CHUNK_DATA_END, CHUNK_TRAILER, CHUNK_DONE };

struct chunks {
	enum chunk_state state;
	uint64_t         left;    /* left of the chunk's data */
	size_t           trailer; /* bytes of trailer lines so far */
	struct reason    reason;  /* of a refusal */
};

/* Decodes the received part of a chunked body into `out`, which may be the memory of `bytes`. *taken bytes were consumed and
 * became *made bytes. An incomplete line is left for the next call, which starts with the first byte not taken. Well-formed
 * extensions and trailers are skipped. Pure. Errors: that of chunks->reason, ERR_INVALID_REQUEST: not the form of RFC 9112;
 * bare line feeds are refused. */
must_check enum err chunks_decode(struct chunks *chunks, struct span bytes, uint8_t *out, size_t *taken,
                                  size_t *made);
