#pragma once
#include "schemas/buffer.h"
#include "schemas/err.h"

/* Appends `text` (UTF-8 without NUL, 1 to PASS_ID_BYTES_MAX bytes) as a QR code to `out`: an <svg> with one path, black on
 * white, with its quiet zone. Pure. Errors: ERR_TOO_LARGE, ERR_NO_MEMORY. */
must_check enum err qr_svg(struct buffer *out, struct span text);
