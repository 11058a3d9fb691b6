#pragma once
#include "schemas/span.h"

enum event_kind {
#define E(name, text, subject, rules) EVENT_##name,
#include "schemas/events.def"
#undef E
	EVENT_KINDS
};
_Static_assert((int)EVENT_KINDS <= 32, "a mask of kinds has 32 bits");

enum event_subject { EVENT_OF_PASS, EVENT_OF_SCAN };

/* The subject of an event of this kind; a pass for an invalid number. */
enum event_subject event_subject(unsigned kind);

/* May an activation rule have this event? */
bool event_has_rules(enum event_kind kind);

/* The kind as the interface prints it ("pass.created"), and back, exactly. Errors: "unknown" for an invalid number;
 * false for an unknown text. */
const char *event_text(unsigned kind);
bool        event_read(struct span text, enum event_kind *kind);
