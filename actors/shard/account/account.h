#pragma once
#include "schemas/rule.h"
#include "schemas/wallet/settings.h"
#include "store/account_row.h"
#include "store/subscription.h"

#include <stdatomic.h>

/* An account as commands need it: its facts, valid keys, templates, active webhook subscriptions and rules, read from the
 * tables once and shared by the writer and the readers. account.c describes its life. Errors: ERR_NOT_FOUND
 * (no such account), and as view.h. */

struct account_key {
	struct uuid id;
	uint8_t     hash[32];
};

/* The valid keys. */
struct account_keys {
	atomic_uint        refs;
	unsigned           count;
	bool               has_more; /* than fit here: rows that another program wrote */
	struct account_key of[KEYS_PER_ACCOUNT_MAX];
};

struct account_template {
	atomic_uint refs;
	bool        is_deleted; /* and no pass was made of it: nothing else is set */
	bool        is_retired; /* deleted, but still needed by deleted passes */
	size_t      bytes;
	uint32_t    look; /* as in struct template_row */
	wall_us     changed;
	struct template rules;
	struct wallet_settings *wallet; /* its texts lie behind it; NULL: the file has none */
	uint8_t                 text[]; /* what the spans of `rules` point into */
};

/* Template n is of[n - 1]; NULL: not read yet. */
struct account_templates {
	atomic_uint                        refs;
	uint32_t                           count; /* ever made, deleted ones too */
	_Atomic uint32_t                   first; /* number of the oldest; 0: not known yet */
	_Atomic(struct account_template *) of[];
};

/* An active webhook subscription: what an event needs of it. */
struct account_webhook {
	atomic_uint refs;
	struct uuid id;
	uint32_t    generation;
	uint32_t    kinds; /* 1 << enum event_kind, or'ed */
	struct span url;   /* normalised, so that two compare */
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

/* An activation rule, active or not. Only its head is read at once, the rest at the first use. */
struct account_rule {
	atomic_uint     refs;
	struct uuid     id;
	bool            active;
	enum event_kind event;
	struct span     text; /* as it is stored */
	bool            is_read;
	uint32_t template; /* number of the template that a pass must have; 0: any */
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
	/* The first moment (view_txn()) at which this is not valid, and the version that is; NULL: unknown. */
	_Atomic uint64_t          until;
	_Atomic(struct account *) newer;
	struct account_id         id;
	struct account_row        row; /* name in `name` */
	struct account_templates *templates;
	struct account_webhooks  *webhooks;
	struct account_keys      *keys;  /* only for the writer */
	struct account_rules     *rules; /* likewise; NULL: not read yet */
	uint8_t                   name[];
};

/* Reads an account from a view, without templates and rules. Range reads: before any staged write. account_free() takes it. */
must_check enum err account_load(struct view *view, struct account_id id, struct account **account);
struct account     *account_share(struct account *account); /* one more reference */
void                account_free(struct account **account); /* drops a reference; NULL: nothing */

/* The account's key with this hash; NULL: none. Takes the same time for all bytes. Only for the writer. */
const struct uuid *account_key(const struct account *account, const uint8_t hash[32]);

/* The template with this number, which the account has made; it lives as long as the version. Read from `view` at the first
 * use, by any thread whose view is of a moment of the version. Errors: ERR_NOT_FOUND (deleted), ERR_DAMAGED (no row). */
must_check enum err account_template(const struct account *account, struct view *view, uint32_t number,
                                     const struct template **template);
/* The same for a new use: ERR_NOT_FOUND also for a template that only deleted passes still need. */
must_check enum err account_usable_template(const struct account *account, struct view *view, uint32_t number,
                                            const struct template **template);
/* Its settings for wallets, which may be those of a template without any, in `room`. As account_template(). */
must_check enum err account_template_wallet(const struct account *account, struct view *view, uint32_t number,
                                            struct wallet_settings        *room,
                                            const struct wallet_settings **wallet);
/* When what wallets show of its passes changed last, and which of the account's looks that was: of the template or of the
 * account's name, whichever is later. As account_template(). */
must_check enum err account_template_look(const struct account *account, struct view *view, uint32_t number,
                                          uint32_t *look, wall_us *changed);
/* The number of the oldest template that is not deleted. May be a range read. Errors: ERR_NOT_FOUND: none. */
must_check enum err account_first_template(const struct account *account, struct view *view,
                                           uint32_t *number);

/* Load its rules, which only events need; and parse one. Only for the writer. Range reads: before any staged write. */
must_check enum err account_load_rules(struct view *view, struct account *account);
must_check enum err account_rule_read(struct account_rule *rule);

/* Accounts lent to a reader, which uses the versions of its view's moment. */
enum { LENT_MAX = 24 };
struct lent {
	unsigned        count;
	struct account *of[LENT_MAX];
};
void lent_add(struct lent *lent, struct account *account); /* adds a reference; beyond LENT_MAX: nothing */
void lent_free(struct lent *lent);
/* The account at the view's moment, from `lent` (NULL: empty) or from the tables. account_free() takes it. The view is a
 * reader's, and no older than the loan. */
must_check enum err account_at(struct view *view, const struct lent *lent, struct account_id id,
                               struct account **account);

/* Bytes of parsed templates and rules in the process. */
size_t account_bytes(void);
