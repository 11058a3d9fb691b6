#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The operations of ops.def. */
enum op {
#define O(name, option, method, path, authorization, body, good, also_good) OP_##name,
#include "bench/ops.def"
	OP_COUNT,
	OP_MIXED = OP_COUNT, /* not a row, but a choice among some: see script.h */
};

/* An operation's name on the command line, which OP_MIXED has too; the operation of a name; whether a status is a success. */
const char *op_name(enum op op);
bool        op_by_name(const char *name, enum op *op);
bool        op_is_good(enum op op, int status);

/* The bytes of a request except the pass's number, made once; writing a request is a few copies. Units: bytes. Errors:
 * request_form_make: false: host, key and prefix are too long for REQUEST_BYTES_MAX, or a mark of the operation stands
 * for nothing. */
enum {
	REQUEST_BYTES_MAX = 1024,
	REQUEST_PIECES_MAX = 4, /* texts between numbers */
	REQUEST_WORDS_MAX = 2,
	NUMBER_DIGITS_MAX = 20, /* of a uint64_t */
};

/* What --names has of pass `first` and the following: a line of one or two words each, all alike. */
struct request_names {
	const char *lines; /* adjacent, without their ends; borrowed. NULL: none */
	uint32_t    line_bytes, word_bytes;
};

/* Where a word goes in the text, how many numbers come before it, and where it is in its line. */
struct request_word {
	uint32_t at, after, from, bytes;
};

struct request_form {
	char     text[REQUEST_BYTES_MAX];
	uint32_t piece_count;
	uint32_t piece_end[REQUEST_PIECES_MAX]; /* offsets in text; a number is between two pieces */
	uint32_t padded_count;                  /* numbers in the body, padded to their longest with blanks */

	uint32_t key_at, key_after; /* where the API key is in the text, and how many numbers come before */
	uint32_t key_bytes;         /* 0: it has none */

	struct request_names names;
	uint32_t             word_count;
	struct request_word  words[REQUEST_WORDS_MAX];
};

/* How passes are identified. */
struct request_subject {
	const char          *id_prefix;
	struct request_names names;
	const char          *account, *tag; /* may be NULL */
};

bool request_form_make(struct request_form *form, enum op op, const char *host, const char *key,
                       const struct request_subject *subject);

/* Has the path of the operation this mark of ops.def? */
bool op_has(enum op op, char mark);

/* A request about pass `number`, the `index`th of all. `key` replaces the key of the form and has `key_bytes`; NULL: the key
 * of the form. Borrowed for the call. */
struct request_about {
	uint64_t    number, index;
	const char *key;
};

/* Writes the request to `bytes` (REQUEST_BYTES_MAX) and returns its size. */
uint32_t request_write(const struct request_form *form, const struct request_about *about, char *bytes);
