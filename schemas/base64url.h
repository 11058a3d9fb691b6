#pragma once
#include "schemas/span.h"

/* Bytes as base64url without padding (RFC 4648). Each value has one text: bits of the last character that hold nothing must
 * be zero. Pure. Units: bytes. */
#define BASE64URL_TEXT(bytes) (((bytes)*4 + 2) / 3 + 1) /* of so many bytes, with the NUL */

void base64url_text(struct span bytes, char *text);

/* Errors: false: it is not the text of `size` bytes. */
bool base64url_read(struct span text, uint8_t *bytes, size_t size);
