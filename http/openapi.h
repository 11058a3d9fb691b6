#pragma once
#include "schemas/buffer.h"

/* The document of the interface: OpenAPI 3.1, as JSON, of every operation below /v1. Made from the tables that the code
 * is made from (schemas/api/, schemas/errors.def) and from those that say the rest (document.def, schemas/objects.def).
 * Pure. */
void openapi_write(struct buffer *out);

#define OPENAPI_PATH "/openapi.json"

/* Looks for what the tables do not say of route `*at` or a later one, and moves `*at` to
 * the first that something is missing of. For tests: such an operation is not in the document, or lacks its words. false:
 * nothing is missing. */
bool openapi_gap(unsigned *at, char text[128]);
