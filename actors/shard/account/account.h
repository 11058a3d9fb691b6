#pragma once
#include "schemas/rule.h"
#include "schemas/template.h"
#include "store/account_row.h"
#include "store/subscription.h"

/* An account as commands need it: its facts, valid key hashes, parsed templates and rules, and active webhook subscriptions, read
 * from the tables once and kept until one of those rows is written. Errors: ERR_NOT_FOUND (no such account), and as
 * view.h. */
struct account_template {
	uint32_t    number;
	struct span json; /* the operator's file */
	struct template rules;
};

/* An active webhook subscription: all that is asked of one when something happened that it may want to hear of. */
struct account_webhook {
	struct uuid id;
	uint32_t    generation;
	uint32_t    kinds; /* 1 << enum event_kind, or'ed */
	struct span url;   /* in the form in which two compare; in the account's arena */
};

/* An activation rule. */
struct account_rule {
	struct uuid id;
	uint32_t template; /* number of the one that a pass must be of; 0: any */
	size_t      bytes; /* of its text */
	struct rule rule;
};

struct account {
	struct account_id  id;
	struct account_row row; /* name in `arena` */
	unsigned           key_count;
	uint8_t (*key_hashes)[32];
	struct uuid              *key_ids;        /* in the order of the hashes */
	unsigned                  template_count; /* template n is templates[n - 1] */
	struct account_template **templates;
	unsigned                  webhook_count; /* active ones, the oldest first */
	struct account_webhook    webhooks[WEBHOOKS_ACTIVE_MAX];
	unsigned                  webhooks_stored; /* inactive ones too */
	unsigned                  rule_count;
	struct account_rule            *
            *rules; /* inactive ones too, the oldest first; the writer's copies alone have them */
	uint64_t        ledger_last;
	struct arena    arena;
	struct account *next; /* in its cache slot */
};

/* Reads one from a view; range reads: before any staged write. account_free() takes it. */
must_check enum err account_load(struct view *view, struct account_id id, struct account **account);
void                account_free(struct account **account);

/* The account's key of this hash; NULL: it has none. In time independent of the bytes. */
const struct uuid *account_key(const struct account *account, const uint8_t hash[32]);

/* Reads its rules too, which only facts are held against. Range reads, likewise. */
must_check enum err account_load_rules(struct view *view, struct account *account);

/* The writer's cache: copies, and nothing that is not in a row. When it is full it begins anew: a miss costs a few point
 * reads. */
enum { ACCOUNT_CACHE_MAX = 20000, ACCOUNT_CACHE_SLOTS = 32768 };
struct account_cache {
	struct account *slots[ACCOUNT_CACHE_SLOTS];
	unsigned        count;
};
must_check enum err account_cached(struct account_cache *cache, struct view *view, struct account_id id,
                                   struct account **account);
void                account_forget(struct account_cache *cache, struct account_id id);
void                account_forget_all(struct account_cache *cache);
