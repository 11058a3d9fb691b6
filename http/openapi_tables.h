#pragma once
#include "http/route.h"
#include "schemas/fields.h"

/* Tables for the OpenAPI document only: the last columns of the rows of schemas/api/, document.def, schemas/objects.def. */

enum { ALWAYS = 0, NULLABLE = 1, SOMETIMES = 2, LIST = 4 };

enum shape {
#define BASE(name, type, rest) SHAPE_##name,
#define WORDS(name, about)     SHAPE_##name,
#define OBJECT(name, about)    SHAPE_##name,
#define WORD(text)
#define MEMBER(...)
#include "schemas/objects.def"
#undef BASE
#undef WORDS
#undef OBJECT
#undef WORD
#undef MEMBER
	SHAPE_PLAIN /* of a field: as its type says */
};

/* A row of schemas/objects.def. Words follow their enumeration, members their object. */
struct shape_row {
	enum { ROW_BASE, ROW_WORDS, ROW_WORD, ROW_OBJECT, ROW_MEMBER, ROW_END } kind;
	const char *name, *text; /* text: BASE: the JSON type; WORD: the word; others: a description */
	const char *rest;        /* BASE: the rest of its schema */
	enum shape  shape;       /* MEMBER: its type; others: its own */
	unsigned    how;         /* MEMBER only */
};

struct tag {
	const char *name, *about;
};

struct operation {
	const char *tag;
	enum shape  answer;
	const char *summary;
	uint64_t    errors; /* its own, 1 << number */
};

/* What the document adds to an argument's struct field. */
struct shown_argument {
	enum shape  shape;
	int         characters; /* maximum; 0: the field's max */
	const char *standing;   /* its default */
	const char *about;
};

enum trait { ANY = 0, WRITES = 1, BODY = 2, INPUT = 4, SUSPENDABLE = 8, WEBHOOKS = 16, REWARDS = 32 };

const struct shape_row *shape_rows(void); /* ends with a ROW_END */
const struct shape_row *shape_row(enum shape shape);
const struct tag       *tags(void); /* ends with a row without a name */

/* NULL: a page, which is not in the document. */
const struct operation      *operation_of(const struct route *route);
const struct shown_argument *argument_shown(enum message message, unsigned argument);
unsigned                     operation_traits(const struct route *route);

/* All errors of the operation; all errors of a status. Masks, 1 << number. */
uint64_t operation_errors(const struct route *route);
uint64_t errors_of_status(int status);
