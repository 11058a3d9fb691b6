#pragma once
#include "schemas/event.h"
#include "schemas/limits.h"
#include "schemas/operator_file.h"

/* An activation rule: actions for an event of one kind on a pass that meets every condition. It is stored and
 * printed as the JSON of the operator's file (names and form: ops/docs/tenants.md). */
enum rule_action_kind {
#define A(NAME, text) RULE_##NAME,
#include "schemas/rule.def"
#undef A
	RULE_ACTION_KINDS
};

struct rule_action {
	enum rule_action_kind kind;
	struct span           text;    /* ASSIGN_REWARD: the slug; SEND_NOTIFICATION: the message */
	bool                  replace; /* ASSIGN_REWARD */
	int64_t               amount;  /* ADD_BALANCE: not 0 */
};

struct rule {
	struct span        name;
	bool               active;
	enum event_kind    event;
	bool               has_min_balance, once_per_pass;
	int64_t            min_balance;
	int64_t            every_n_scans;          /* 0: any number */
	struct span        template_id, reader_id; /* of size 0: any */
	unsigned           action_count;           /* from 1 */
	struct rule_action actions[RULE_OWN_ACTIONS_MAX];
};

/* Reads a rule file's object without its id; spans point into the JSON tree. The template's existence is not
 * checked. `*fault` is set on an error only. Errors: ERR_INVALID_INPUT. */
must_check enum err rule_read(const struct json *file, struct rule *rule, struct file_fault *fault);

/* Appends the rule as such a file, with every member except absent conditions. */
void rule_text(const struct rule *rule, struct buffer *out);

/* Reads the first members of a text that rule_text() wrote, and skips the rest. false: rule_text() did not write it.
 * Errors: none. */
bool rule_head(struct span text, bool *active, enum event_kind *event);
