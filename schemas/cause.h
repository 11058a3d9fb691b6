#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

/* Causes of refusals; the rows are in causes.def. Each has an error and one sentence for people, filled in here with
 * the caller's data. Units: bytes. Errors: none. */
enum cause {
	CAUSE_NONE = 0,
#define C(name, code, text) CAUSE_##name,
#include "schemas/causes.def"
#undef C
	CAUSE_COUNT
};

enum {
	REASON_TEXT = 512,      /* of a sentence, with its NUL: no row exceeds it */
	REASON_FIELD_MAX = 100, /* of a caller's text in a sentence; the rest is cut */
	HINT_TEXT = 200,
};

/* A cause and the values in its sentence; unused ones may be left out. Spans and texts are borrowed. */
struct reason {
	enum cause  cause;
	struct span field;
	const char *wanted;
	struct span given;
	int64_t     least, most;
};

/* The error of a cause; its name, for logs. */
enum err    cause_err(enum cause cause);
const char *cause_name(enum cause cause);

/* The sentence. Names are cut between characters. A control character or backtick in a name becomes "?"; so does
 * every byte beyond ASCII if the name is not UTF-8. */
void reason_text(const struct reason *reason, char text[REASON_TEXT]);

/* A reason that names a field as text; and one without a field. */
#define REASON(name, named, ...) \
	(&(struct reason){.cause = CAUSE_##name, .field = span_str(named), ##__VA_ARGS__})
#define REASON_OF_ALL(name, ...) (&(struct reason){.cause = CAUSE_##name, ##__VA_ARGS__})

/* The refusal of a request: the field's name as printed (at NULL: the whole request), and the sentence (empty: the
 * error's own). The span lives as long as the request and the memory it was read into. */
struct refusal {
	struct span field;
	char        message[REASON_TEXT];
};

/* Fills it in and returns the cause's error. */
enum err refusal_of(struct refusal *refusal, const struct reason *reason);

/* A hint for a name that is not in `known`: the most similar one, or all of them. */
void hint_text(struct span name, const struct span *known, unsigned count, char hint[HINT_TEXT]);
