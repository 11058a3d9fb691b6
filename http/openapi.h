#pragma once
#include "schemas/buffer.h"

/* The OpenAPI 3.1 document, in JSON, of every operation below /v1. Generated from the tables that the code uses (schemas/api/,
 * schemas/errors.def), and from document.def and schemas/objects.def. Pure. */
void openapi_write(struct buffer *out);

#define OPENAPI_PATH "/openapi.json"

/* Finds the next route, from `*at` on, whose description has a gap, and sets `*at` and `text`. For tests: such an operation is
 * missing from the document or lacks a text. False: there is no gap. */
bool openapi_gap(unsigned *at, char text[128]);
