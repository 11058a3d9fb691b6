#pragma once
#include "schemas/json.h"

/* Reads the operator's files (a template, a rule): members by name, and what is wrong with one. `in` is the path of
 * an object in its file ("": the file itself), as in a fault. Errors: none but false. */

enum { FILE_FAULT_TEXT = 320 };

/* A fault: the member's path in the form of jq without the leading dot ("fields[2].type"; "file": the whole file), a
 * long key cut, and a sentence for people, static or in `text`. */
struct file_fault {
	char        field[96];
	const char *message;
	char        text[FILE_FAULT_TEXT];
};

/* Record a fault and return false: in member `name` of `in`; in whatever `what` names. */
bool file_wrong(struct file_fault *fault, const char *in, const char *name, const char *message);
bool file_wrong_key(struct file_fault *fault, const char *in, struct span key, const char *message);
bool file_wrong_whole(struct file_fault *fault, const char *what, const char *message);

/* The same: the member must be `wanted`, followed by `list` unless NULL. */
bool file_must(struct file_fault *fault, const char *in, const char *name, const char *wanted,
               const char *list);

/* Has the object only these members? NULL ends them. For another member the fault has `message`, a sentence without
 * its end, and a guess at what was meant. */
bool file_knows(const struct json *object, const char *const *keys, const char *in, const char *message,
                struct file_fault *fault);

/* Is the member there, and not null? */
bool file_has(const struct json *object, const char *key);

/* These leave `*to` unchanged if the member is absent or null; false: it is present but wrong. A text is a non-empty
 * string; a choice is one of `count` texts, and must be present. */
bool file_text(const struct json *object, const char *key, struct span *to);
bool file_flag(const struct json *object, const char *key, bool *to);
bool file_integer(const struct json *object, const char *key, int64_t *to);
bool file_choice(const struct json *object, const char *key, const char *const *texts, unsigned count,
                 unsigned *to);
