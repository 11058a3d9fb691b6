#pragma once
#include "http/openapi_tables.h"
#include "schemas/buffer.h"

/* Writes a piece of JSON in which ' stands for the quotation mark. A comma is inserted before it where needed. Errors:
 * out->failed. */
__attribute__((format(printf, 2, 3))) void put(struct buffer *out, const char *format, ...);

/* A member that is a string; a member that refers to the component `name` of that kind. */
void put_text(struct buffer *out, const char *name, const char *text);
void put_ref(struct buffer *out, const char *kind, const char *name);

/* The members of a type's schema; the caller writes the braces. */
void put_type(struct buffer *out, enum shape shape, bool nullable);

/* The schemas of all types that the document refers to so far, and of the types that these refer to: members of an object that the
 * caller begins and ends. */
void put_schemas(struct buffer *out);
