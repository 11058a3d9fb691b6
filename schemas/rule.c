/* Parses and checks the rule file. One reader serves the command line's input and stored rules. */
#include "schemas/rule.h"

#include "schemas/object_json.h"

#include "schemas/fields.h"
#include "schemas/fold.h"
#include "schemas/ids.h"
#include "schemas/slug.h"

#include <stdio.h>

static const char *const kind_texts[RULE_ACTION_KINDS] = {
#define A(NAME, text) [RULE_##NAME] = text,
#include "schemas/rule.def"
#undef A
};

/* Each list begins with a comma and a blank. */
static const char events[] = ""
#define RULES(text) ", " text
#define NO_RULES(text)
#define E(name, text, subject, rules) rules(text)
#include "schemas/events.def"
#undef E
    ;

static const char kinds_known[] = ""
#define A(NAME, text) ", " text
#include "schemas/rule.def"
#undef A
    ;

enum { PATH_BYTES = 24 };

/* A text shown to people; it is required. */
static bool read_shown(const struct json *object, const char *key, size_t points_max, struct span *to)
{
	return file_text(object, key, to) && to->size && utf8_length(*to) <= points_max;
}

/* A whole number within the range of balances. */
static bool read_points(const struct json *object, const char *key, int64_t *to)
{
	return file_integer(object, key, to) && *to >= -BALANCE_MAX && *to <= BALANCE_MAX;
}

/* ---- conditions ---- */

/* Conditions for scans only. */
static bool read_of_scans(const struct json *value, struct rule *rule, struct file_fault *fault)
{
	static const char  only[] = "Only a rule whose event is scan.created can ask for this.";
	static const char *of_scans[] = {"every_n_scans", "reader_id"};
	const char        *in = "conditions";
	if (!file_integer(value, of_scans[0], &rule->every_n_scans) ||
	    (file_has(value, of_scans[0]) && rule->every_n_scans < 1))
		return file_wrong(fault, in, of_scans[0], "An every_n_scans is a whole number, 1 or more.");
	if (!file_text(value, of_scans[1], &rule->reader_id) ||
	    (file_has(value, of_scans[1]) && !text_is_plain(rule->reader_id, READER_ID_BYTES_MAX)))
		return file_wrong(
		    fault, in, of_scans[1],
		    "A reader_id is a string of 1 to 200 bytes, none of them a control character.");
	for (unsigned i = 0; i < 2; i++)
		if (file_has(value, of_scans[i]) && event_subject(rule->event) != EVENT_OF_SCAN)
			return file_wrong(fault, in, of_scans[i], only);
	return true;
}

static bool read_conditions(const struct json *file, struct rule *rule, struct file_fault *fault)
{
	static const char *const keys[] = {"min_balance", "every_n_scans", "template_id",
	                                   "reader_id",   "once_per_pass", NULL};
	const char              *in = "conditions";
	const struct json       *value = json_member(file, in);
	if (!file_has(file, in)) return true;
	if (value->kind != JSON_OBJECT) return file_wrong_whole(fault, in, "Conditions are a JSON object.");
	if (!file_knows(value, keys, in, "There is no such condition", fault)) return false;
	rule->has_min_balance = file_has(value, "min_balance");
	if (!read_points(value, "min_balance", &rule->min_balance))
		return file_wrong(
		    fault, in, "min_balance",
		    "A min_balance is a whole number from -9007199254740991 to 9007199254740991.");
	if (!file_text(value, "template_id", &rule->template_id))
		return file_wrong(fault, in, "template_id", "A template_id is the id of a pass template.");
	if (!file_flag(value, "once_per_pass", &rule->once_per_pass))
		return file_must(fault, in, "once_per_pass", "true or false", NULL);
	return read_of_scans(value, rule, fault);
}

/* ---- actions ---- */

static bool read_reward(const struct json *value, const char *in, struct rule_action *action,
                        struct file_fault *fault)
{
	if (!file_text(value, "slug", &action->text) || !slug_is_valid(action->text))
		return file_wrong(fault, in, "slug", "A slug is a reward's, such as free_coffee.");
	if (!file_flag(value, "replace", &action->replace))
		return file_must(fault, in, "replace", "true or false", NULL);
	return true;
}

static bool read_amount(const struct json *value, const char *in, struct rule_action *action,
                        struct file_fault *fault)
{
	if (!read_points(value, "amount", &action->amount) || action->amount == 0)
		return file_wrong(fault, in, "amount",
		                  "An amount is a whole number other than 0, from -9007199254740991 to "
		                  "9007199254740991.");
	return true;
}

static bool read_message(const struct json *value, const char *in, struct rule_action *action,
                         struct file_fault *fault)
{
	if (!read_shown(value, "message", NOTIFICATION_CODE_POINTS_MAX, &action->text))
		return file_wrong(fault, in, "message", "A message is a string of 1 to 2000 characters.");
	return true;
}

static bool read_action(const struct json *value, const char *in, struct rule_action *action,
                        struct file_fault *fault)
{
	static const struct {
		const char *keys[4];
		bool (*read)(const struct json *value, const char *in, struct rule_action *action,
		             struct file_fault *fault);
	} kinds[RULE_ACTION_KINDS] = {
	    [RULE_ASSIGN_REWARD] = {{"type", "slug", "replace"}, read_reward},
	    [RULE_ADD_BALANCE] = {{"type", "amount"}, read_amount},
	    [RULE_SEND_NOTIFICATION] = {{"type", "message"}, read_message},
	};
	unsigned kind;
	*action = (struct rule_action){.amount = 0};
	if (value->kind != JSON_OBJECT) return file_wrong_whole(fault, in, "An action is a JSON object.");
	if (!file_choice(value, "type", kind_texts, RULE_ACTION_KINDS, &kind))
		return file_must(fault, in, "type", "one of ", kinds_known + 2);
	if (!file_knows(value, kinds[kind].keys, in, "An action of this type has no such member", fault))
		return false;
	action->kind = (enum rule_action_kind)kind;
	return kinds[kind].read(value, in, action, fault);
}

static bool read_actions(const struct json *file, struct rule *rule, struct file_fault *fault)
{
	const char        *what = "actions";
	const struct json *list = json_member(file, what);
	char               in[PATH_BYTES];
	if (!list || list->kind != JSON_ARRAY || list->count < 1 || list->count > RULE_OWN_ACTIONS_MAX)
		return file_wrong_whole(fault, what, "A rule has actions, a JSON array of 1 to 8.");
	for (const struct json *value = list->child; value; value = value->next) {
		snprintf(in, sizeof in, "%s[%u]", what, rule->action_count);
		if (!read_action(value, in, &rule->actions[rule->action_count], fault)) return false;
		rule->action_count++;
	}
	return true;
}

/* ---- the whole ---- */

static bool read_head(const struct json *file, struct rule *rule, struct file_fault *fault)
{
	static const char *const keys[] = {"id", "name", "active", "event", "conditions", "actions", NULL};
	const struct json       *event = json_member(file, "event");
	if (file->kind != JSON_OBJECT) return file_wrong_whole(fault, "file", "A rule is a JSON object.");
	if (!file_knows(file, keys, "", "A rule has no such member", fault)) return false;
	if (!read_shown(file, "name", RULE_NAME_CODE_POINTS_MAX, &rule->name))
		return file_wrong_whole(fault, "name", "A rule has a name, a string of 1 to 200 characters.");
	if (!file_flag(file, "active", &rule->active))
		return file_must(fault, "", "active", "true or false", NULL);
	if (!event || event->kind != JSON_STRING || !event_read(event->text, &rule->event) ||
	    !event_has_rules(rule->event))
		return file_must(fault, "", "event", "one of ", events + 2);
	return true;
}

enum err rule_read(const struct json *file, struct rule *rule, struct file_fault *fault)
{
	*rule = (struct rule){.active = true};
	bool good = read_head(file, rule, fault) && read_conditions(file, rule, fault) &&
	            read_actions(file, rule, fault);
	return good ? OK : ERR_INVALID_INPUT;
}

/* ---- as text again ---- */

static void json_RuleConditions(struct buffer *out, const struct rule *rule)
{
	size_t begin = out->size;
#include "schemas/objects/rule_conditions.def"
	json_object_end(out, begin);
}

static void json_RuleAction(struct buffer *out, const struct rule_action *action)
{
	size_t begin = out->size;
#include "schemas/objects/rule_action.def"
	json_object_end(out, begin);
}

void rule_text(const struct rule *rule, struct buffer *out)
{
	size_t begin = out->size;
#include "schemas/objects/rule.def"
	json_object_end(out, begin);
}

/* ---- head of a text ---- */

static bool take(struct span *text, const char *word)
{
	size_t size = strlen(word);
	if (text->size < size || memcmp(text->at, word, size)) return false;
	*text = span_of(text->at + size, text->size - size);
	return true;
}

/* Takes a string up to its end, with any escapes. */
static bool take_string(struct span *text, struct span *inside)
{
	size_t at = 1;
	if (!text->size || text->at[0] != '"') return false;
	while (at < text->size && text->at[at] != '"')
		at += text->at[at] == '\\' ? 2 : 1;
	if (at >= text->size) return false;
	*inside = span_of(text->at + 1, at - 1);
	*text = span_of(text->at + at + 1, text->size - at - 1);
	return true;
}

bool rule_head(struct span text, bool *active, enum event_kind *event)
{
	struct span name, kind;
	if (!take(&text, "{\"name\":") || !take_string(&text, &name) || !take(&text, ",\"active\":"))
		return false;
	*active = take(&text, "true");
	if (!*active && !take(&text, "false")) return false;
	return take(&text, ",\"event\":") && take_string(&text, &kind) && event_read(kind, event) &&
	       take(&text, ",");
}
