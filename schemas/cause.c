/* Sentences about refusals, from the rows of causes.def. Of a caller's text they contain only what is needed to find
 * it: the name of a field, cut, and never a value. */
#include "schemas/cause.h"
#include "schemas/json.h"
#include "schemas/nearest.h"

#include <stdio.h>

static const struct {
	const char *name;
	enum err    err;
	const char *text;
} rows[CAUSE_COUNT] = {
    [CAUSE_NONE] = {"NONE", OK, ""},
#define C(name, code, text) [CAUSE_##name] = {#name, ERR_##code, text},
#include "schemas/causes.def"
#undef C
};

enum err cause_err(enum cause cause)
{
	must(cause < CAUSE_COUNT);
	return rows[cause].err;
}

const char *cause_name(enum cause cause)
{
	must(cause < CAUSE_COUNT);
	return rows[cause].name;
}

/* ---- sentences ---- */

struct writer {
	char  *at;
	size_t size, room;
};

static void put(struct writer *out, const char *bytes, size_t size)
{
	if (size > out->room - out->size) size = out->room - out->size;
	memcpy(out->at + out->size, bytes, size);
	out->size += size;
}

static void put_name(struct writer *out, struct span name)
{
	struct span shown = utf8_cut(name, REASON_FIELD_MAX);
	bool        is_text = utf8_is_valid(shown);
	for (size_t i = 0; i < shown.size; i++) {
		char c = (char)shown.at[i];
		if (shown.at[i] < ' ' || c == 0x7f || c == '`' || (shown.at[i] > 0x7f && !is_text)) c = '?';
		put(out, &c, 1);
	}
	if (shown.size < name.size) put(out, "...", 3);
}

static void put_number(struct writer *out, int64_t number)
{
	char text[24];
	put(out, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)number));
}

/* Writes the placeholder at `at` and returns its size in the sentence; 0: not a placeholder. */
static size_t put_part(struct writer *out, const char *at, const struct reason *reason)
{
	static const char *const names[] = {"{field}", "{wanted}", "{given}", "{least}", "{most}"};
	unsigned                 i = 0;
	while (i < 5 && strncmp(at, names[i], strlen(names[i])) != 0)
		i++;
	switch (i) {
	case 0: put_name(out, reason->field); break;
	case 1:
		put(out, reason->wanted ? reason->wanted : "", reason->wanted ? strlen(reason->wanted) : 0);
		break;
	case 2: put_name(out, reason->given); break;
	case 3: put_number(out, reason->least); break;
	case 4: put_number(out, reason->most); break;
	default: return 0;
	}
	return strlen(names[i]);
}

void reason_text(const struct reason *reason, char text[REASON_TEXT])
{
	struct writer out = {.at = text, .room = REASON_TEXT - 1};
	must(reason->cause < CAUSE_COUNT);
	for (const char *at = rows[reason->cause].text; *at;) {
		size_t size = *at == '{' ? put_part(&out, at, reason) : 0;
		if (!size) put(&out, at, size = 1);
		at += size;
	}
	text[out.size] = 0;
}

enum err refusal_of(struct refusal *refusal, const struct reason *reason)
{
	refusal->field = reason->field;
	reason_text(reason, refusal->message);
	return cause_err(reason->cause);
}

/* ---- hints ---- */

void hint_text(struct span name, const struct span *known, unsigned count, char hint[HINT_TEXT])
{
	enum { SHOWN_MAX = 60, TAIL_BYTES = 24 }; /* of one name; of " and 4294967295 more" */
	struct writer      out = {.at = hint, .room = HINT_TEXT - 1 - TAIL_BYTES};
	const struct span *meant = nearest_span(name, known, count);
	unsigned           shown = 0;
	if (meant) {
		put(&out, "perhaps `", 9);
		put_name(&out, *meant);
		put(&out, "` is meant", 10);
	} else {
		const char *begin = count ? "known are " : "it takes none";
		put(&out, begin, strlen(begin));
	}
	for (; !meant && shown < count && known[shown].size <= SHOWN_MAX; shown++) {
		if (out.size + known[shown].size + 2 > out.room) break;
		if (shown) put(&out, ", ", 2);
		put_name(&out, known[shown]);
	}
	hint[out.size] = 0;
	if (!meant && shown < count)
		snprintf(hint + out.size, TAIL_BYTES, shown ? " and %u more" : "%u others", count - shown);
}
