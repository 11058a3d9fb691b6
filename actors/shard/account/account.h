#pragma once
#include "schemas/rule.h"
#include "schemas/template.h"
#include "store/account_row.h"
#include "store/subscription.h"

#include <stdatomic.h>

/* An account as commands need it: its facts, valid keys, templates, active webhook subscriptions and rules, read from the
 * tables once and shared by the writer and the readers. Its life is told at the head of account.c. Errors: ERR_NOT_FOUND
 * (no such account), and as view.h. */

struct account_key {
	struct uuid id;
	uint8_t     hash[32];
};

/* The valid keys. */
struct account_keys {
	atomic_uint        refs;
	unsigned           count;
	bool               has_more; /* than there is room for: rows of another program's making */
	struct account_key of[KEYS_PER_ACCOUNT_MAX];
};

struct account_template {
	atomic_uint refs;
	bool        is_deleted; /* all that there is of it */
	size_t      bytes;
	struct template rules;
	uint8_t text[]; /* what the spans of `rules` point into */
};

/* Template n is of[n - 1]; NULL: not read yet. */
struct account_templates {
	atomic_uint                        refs;
	uint32_t                           count; /* that were made, deleted ones too */
	_Atomic uint32_t                   first; /* number of the oldest; 0: not known yet */
	_Atomic(struct account_template *) of[];
};

/* An active webhook subscription: all that is asked of one when something happened that it may want to hear of. */
struct account_webhook {
	atomic_uint refs;
	struct uuid id;
	uint32_t    generation;
	uint32_t    kinds; /* 1 << enum event_kind, or'ed */
	struct span url;   /* in the form in which two compare */
	uint8_t     text[];
};

/* Ids of all subscriptions, inactive ones too, ascending. */
struct account_ids {
	atomic_uint refs;
	unsigned    count;
	struct uuid of[];
};

struct account_webhooks {
	atomic_uint             refs;
	unsigned                count; /* active ones, the oldest first */
	bool                    has_more;
	struct account_webhook *of[WEBHOOKS_ACTIVE_MAX];
	struct account_ids     *stored;
};

/* An activation rule, inactive ones too. All but its head is read when it is first needed. */
struct account_rule {
	atomic_uint     refs;
	struct uuid     id;
	bool            active;
	enum event_kind event;
	struct span     text; /* as it is stored */
	bool            is_read;
	uint32_t template; /* number of the one that a pass must be of; 0: any */
	struct rule rule;  /* without its name; spans point into `words` */
	uint8_t    *words;
	size_t      bytes;
	uint8_t     stored[];
};

/* The oldest first. Those that are active, by event: of[order[i]] for i from begin[event] to begin[event + 1] - 1. */
struct account_rules {
	atomic_uint          refs;
	unsigned             count;
	size_t               bytes; /* of their texts */
	struct account_rule *of[RULES_MAX];
	uint8_t              order[RULES_MAX], begin[EVENT_KINDS + 1];
};
_Static_assert(RULES_MAX < 256, "rules are named by a byte");

struct account {
	atomic_uint refs;
	/* The first moment (view_txn()) of which this is not the truth, and what is then; NULL: it is not known. */
	_Atomic uint64_t          until;
	_Atomic(struct account *) newer;
	struct account_id         id;
	struct account_row        row; /* name in `name` */
	struct account_templates *templates;
	struct account_webhooks  *webhooks;
	struct account_keys      *keys;  /* the writer's alone */
	struct account_rules     *rules; /* likewise; NULL: not read yet */
	uint8_t                   name[];
};

/* Reads one from a view, but for templates and rules; range reads: before any staged write. account_free() takes it. */
must_check enum err account_load(struct view *view, struct account_id id, struct account **account);
struct account     *account_share(struct account *account); /* another hold on it */
void                account_free(struct account **account); /* lets go; NULL: nothing */

/* The account's key of this hash; NULL: it has none. In time independent of the bytes. The writer's. */
const struct uuid *account_key(const struct account *account, const uint8_t hash[32]);

/* The template of this number, one that the account has made; it lives as long as the account is held. Read from `view` when
 * it is first asked for, by any thread whose view is of a moment of the account. Errors: ERR_NOT_FOUND (it was deleted),
 * ERR_DAMAGED (there is no row). */
must_check enum err account_template(const struct account *account, struct view *view, uint32_t number,
                                     const struct template **template);
/* The number of the oldest template that there is. May be a range read. Errors: ERR_NOT_FOUND: there is none. */
must_check enum err account_first_template(const struct account *account, struct view *view,
                                           uint32_t *number);

/* Its rules, which only facts are held against, and what one says. The writer's. Range reads, likewise. */
must_check enum err account_load_rules(struct view *view, struct account *account);
must_check enum err account_rule_read(struct account_rule *rule);

/* Accounts that a reader may use if they are of its view's moment. */
enum { LENT_MAX = 24 };
struct lent {
	unsigned        count;
	struct account *of[LENT_MAX];
};
void lent_add(struct lent *lent, struct account *account); /* takes hold of it; one too many is left out */
void lent_free(struct lent *lent);
/* The account as of the view's moment, from what is lent (NULL: nothing) or else from the tables. account_free() takes it. A reader's view,
 * from a moment not before the accounts were lent. */
must_check enum err account_at(struct view *view, const struct lent *lent, struct account_id id,
                               struct account **account);

/* Bytes of templates and rules that are held in parsed form by the process. */
size_t account_bytes(void);
