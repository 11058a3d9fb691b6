/* The texts of event kinds, expanded from events.def. */
#include "schemas/event.h"

static const char *const texts[EVENT_KINDS] = {
#define E(name, text) [EVENT_##name] = text,
#include "schemas/events.def"
#undef E
};

const char *event_text(unsigned kind)
{
	return kind < EVENT_KINDS ? texts[kind] : "unknown";
}

bool event_read(struct span text, enum event_kind *kind)
{
	for (unsigned i = 0; i < EVENT_KINDS; i++) {
		if (!span_is(text, texts[i])) continue;
		*kind = (enum event_kind)i;
		return true;
	}
	return false;
}
