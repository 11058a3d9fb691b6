#pragma once
#include "schemas/span.h"

enum event_kind {
#define E(name, text, subject) EVENT_##name,
#include "schemas/events.def"
#undef E
	EVENT_KINDS
};
_Static_assert((int)EVENT_KINDS <= 32, "a mask of kinds has 32 bits");

enum event_subject { EVENT_OF_PASS, EVENT_OF_SCAN };

/* What an event of the kind is about; a number that is no kind: a pass. */
enum event_subject event_subject(unsigned kind);

/* The kind as the interface prints it ("pass.created"), and back, to the letter.
 * Errors: "unknown" for a number that is no kind; false for a text that is none. */
const char *event_text(unsigned kind);
bool        event_read(struct span text, enum event_kind *kind);
