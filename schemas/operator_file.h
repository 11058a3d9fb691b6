#pragma once
#include "schemas/json.h"

/* What files of the operator's (a template, a rule) are read with: members by name, and what is wrong with one.
 * `in` is the path of an object in its file ("": the file itself), as in a fault. Errors: none but false. */

enum { FILE_FAULT_TEXT = 320 };

/* What is wrong: the member at fault as a path that jq takes without its leading dot ("fields[2].type"; "file": the whole
 * of it), a long key cut, and a sentence for people, static or in `text`. */
struct file_fault {
	char        field[96];
	const char *message;
	char        text[FILE_FAULT_TEXT];
};

/* false, having said that it is member `name` of `in`; that it is what `what` names. */
bool file_wrong(struct file_fault *fault, const char *in, const char *name, const char *message);
bool file_wrong_whole(struct file_fault *fault, const char *what, const char *message);

/* The same: the member must be `wanted`, and, unless NULL, `list` behind that. */
bool file_must(struct file_fault *fault, const char *in, const char *name, const char *wanted,
               const char *list);

/* Has the object these members and no others? NULL ends them. Of another `message` is told, which is a sentence without its
 * end, and what may have been meant. */
bool file_knows(const struct json *object, const char *const *keys, const char *in, const char *message,
                struct file_fault *fault);

/* Is the member there, and not null? */
bool file_has(const struct json *object, const char *key);

/* These leave `*to` alone when the member is absent or null; false means: it is there, but wrong. A text is a string that
 * is not empty; a choice is one of `count` texts, and must be there. */
bool file_text(const struct json *object, const char *key, struct span *to);
bool file_flag(const struct json *object, const char *key, bool *to);
bool file_integer(const struct json *object, const char *key, int64_t *to);
bool file_choice(const struct json *object, const char *key, const char *const *texts, unsigned count,
                 unsigned *to);
