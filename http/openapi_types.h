#pragma once
#include "http/openapi_tables.h"
#include "schemas/buffer.h"

/* The document of the interface is written piece by piece, each as JSON in which ' stands for the quotation mark. A comma
 * is put before one where it belongs. Errors: out->failed. */
__attribute__((format(printf, 2, 3))) void put(struct buffer *out, const char *format, ...);

/* A member that is a string; one that refers to what is called `name` among the components of that kind. */
void put_text(struct buffer *out, const char *name, const char *text);
void put_ref(struct buffer *out, const char *kind, const char *name);

/* The members of a type's schema, for braces that the caller has opened. */
void put_type(struct buffer *out, enum shape shape, bool nullable);

/* The schemas of all types that the document refers to so far, and of those that these refer to in their turn. */
void put_schemas(struct buffer *out);
