#pragma once
#include "schemas/buffer.h"
#include "schemas/err.h"

/* `text` (UTF-8 without NUL, 1 to PASS_ID_BYTES_MAX bytes) as a QR code: an <svg> of black on white with its quiet zone,
 * one path, appended to `out`. Pure; the same text gives the same code. Errors: ERR_TOO_LARGE, ERR_NO_MEMORY. */
must_check enum err qr_svg(struct buffer *out, struct span text);
