/* The kinds of events, expanded from events.def. */
#include "schemas/event.h"

static const struct {
	const char        *text;
	enum event_subject subject;
	bool               has_rules;
} kinds[EVENT_KINDS] = {
#define RULES                         true
#define NO_RULES                      false
#define E(name, text, subject, rules) [EVENT_##name] = {text, EVENT_OF_##subject, rules},
#include "schemas/events.def"
#undef E
};

enum event_subject event_subject(unsigned kind)
{
	return kind < EVENT_KINDS ? kinds[kind].subject : EVENT_OF_PASS;
}

bool event_has_rules(enum event_kind kind)
{
	return kind < EVENT_KINDS && kinds[kind].has_rules;
}

const char *event_text(unsigned kind)
{
	return kind < EVENT_KINDS ? kinds[kind].text : "unknown";
}

bool event_read(struct span text, enum event_kind *kind)
{
	for (unsigned i = 0; i < EVENT_KINDS; i++) {
		if (!span_is(text, kinds[i].text)) continue;
		*kind = (enum event_kind)i;
		return true;
	}
	return false;
}
