#pragma once
#include "schemas/buffer.h"
#include "schemas/json.h"
#include "schemas/template.h"

/* One field of pass.json, as a JSON object. Pure. Errors: the buffer's. */
enum { PASS_DATE_TEXT = 32 };

/* A date of a pass as Apple reads it: seconds without a fraction, and the offset that was written; a day is midnight in UTC.
 * Errors: false: it is no date. */
bool pass_date_text(struct span value, char text[PASS_DATE_TEXT], bool *is_day);

/* A field of the template. Keys that begin with "stampede." are ours: such a key of a template gets "field:" in front. */
struct pass_field {
	const struct template_field *field;
	const struct json           *value;
	bool                         is_back;
	struct span                  change;             /* shown when the value has changed; size 0: none, */
	bool                         has_default_change; /* or the label and the value */
};

/* Is the value one that a field can show: no list or object, not null? */
bool pass_field_is_shown(const struct json *value);
void pass_field_write(const struct pass_field *shown, struct buffer *out);

/* A field of our own on the back. */
struct pass_words {
	const char *key;
	struct span label, value;
	const char *change;  /* NULL: none */
	bool        is_link; /* the value is a URL */
};
void pass_words_write(const struct pass_words *words, struct buffer *out);
