#pragma once
#include "actors/shard/account/account.h"
#include "store/rule.h"

/* The parts of an account: loaded from its rows, or made from the part before with one row changed, which shares the rest with
 * it. A part that is handed over comes with its reference. Errors: as account.h. */

#define PART_DECLARE(part)                        \
	struct part *part##_share(struct part *); \
	void         part##_free(struct part **); /* drops a reference; NULL: nothing */
PART_DECLARE(account_keys)
PART_DECLARE(account_template)
PART_DECLARE(account_templates)
PART_DECLARE(account_webhook)
PART_DECLARE(account_ids)
PART_DECLARE(account_webhooks)
PART_DECLARE(account_rule)
PART_DECLARE(account_rules)
#undef PART_DECLARE

/* The next version, with the same parts; the caller replaces parts before it shares the version. */
must_check enum err account_copy(const struct account *before, const struct account_row *row,
                                 struct account **out);

must_check enum err account_keys_load(struct view *view, struct account_id id, struct account_keys **out);
must_check enum err account_webhooks_load(struct view *view, struct account_id id,
                                          struct account_webhooks **out);
must_check enum err account_rules_load(struct view *view, struct account_id id, struct account_rules **out);
/* No template is read yet. Errors: NULL: out of memory. */
struct account_templates *account_templates_new(uint32_t count);
must_check enum err       account_template_first(struct view *view, struct account_id id, uint32_t *number);
must_check enum err       account_template_load(struct view *view, struct account_id id, uint32_t number,
                                                struct account_template **out);

/* A row was put or, NULL, deleted. *out may be NULL without an error: then the part has to be loaded again. */
must_check enum err account_keys_change(const struct account_keys *keys, struct uuid id,
                                        const struct key_row *row, struct account_keys **out);
must_check enum err account_webhooks_change(const struct account_webhooks *webhooks, struct uuid id,
                                            const struct subscription *row, struct account_webhooks **out);
must_check enum err account_rules_change(const struct account_rules *rules, struct uuid id,
                                         const struct rule_row *row, struct account_rules **out);
/* Keeps a copy of a parsed rule, with texts of its own. Errors: ERR_NO_MEMORY. */
must_check enum err account_rule_keep(struct account_rule *rule, const struct rule *read);
/* The same templates, except the one of this number, which has to be read again (0: none); `count` as it is now. Errors: NULL:
 * out of memory. */
struct account_templates *account_templates_change(struct account_templates *templates, uint32_t count,
                                                   uint32_t number);
