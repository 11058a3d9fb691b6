#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

/* Why something was refused: the rows are in causes.def. Each has an error and one sentence for people, which is made here
 * of what the caller knows. Units: bytes. Errors: none. */
enum cause {
	CAUSE_NONE = 0,
#define C(name, code, text) CAUSE_##name,
#include "schemas/causes.def"
#undef C
	CAUSE_COUNT
};

enum {
	REASON_TEXT = 512,      /* of a sentence, with its NUL: no row can make a longer one */
	REASON_FIELD_MAX = 100, /* of what a caller wrote, in a sentence; the rest is cut off */
	HINT_TEXT = 200,
};

/* A cause and what its sentence tells of; what it does not tell of may be left out. Spans and texts are borrowed. */
struct reason {
	enum cause  cause;
	struct span field;
	const char *wanted;
	struct span given;
	int64_t     least, most;
};

/* The code of a cause; its name, for logs. */
enum err    cause_err(enum cause cause);
const char *cause_name(enum cause cause);

/* The sentence. Names are cut between characters; a control character or a backtick in one becomes "?", and so does every
 * byte beyond ASCII of one that is not UTF-8. */
void reason_text(const struct reason *reason, char text[REASON_TEXT]);

/* A reason that blames a field, by its name as text; and one that is nobody's fault. */
#define REASON(name, named, ...) \
	(&(struct reason){.cause = CAUSE_##name, .field = span_str(named), ##__VA_ARGS__})
#define REASON_OF_ALL(name, ...) (&(struct reason){.cause = CAUSE_##name, ##__VA_ARGS__})

/* What a request was refused for: the field's name as the answer shows it (at NULL: the request as a whole), and the
 * sentence (empty: the error's own). The span lives as long as the request and the memory it was read into. */
struct refusal {
	struct span field;
	char        message[REASON_TEXT];
};

/* Fills it in, and returns the cause's error. */
enum err refusal_of(struct refusal *refusal, const struct reason *reason);

/* A hint at what was meant by a name that is none of `known`: the one that is spelt much like it, or all of them. */
void hint_text(struct span name, const struct span *known, unsigned count, char hint[HINT_TEXT]);
