#pragma once
#include "schemas/buffer.h"

/* Files made of chunks whose checksums hold. */
void png_put_signature(struct buffer *file);
void png_put_chunk(struct buffer *file, const char *kind, struct span data); /* kind: four letters */
