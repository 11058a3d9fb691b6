#pragma once
#include "schemas/template.h"
#include "store/account_row.h"

/* An account as commands need it: its facts, valid key hashes and parsed templates, read from the tables once
 * and kept until one of those rows is written. Errors: ERR_NOT_FOUND (no such account), and as view.h. */
struct account_template {
	uint32_t    number;
	struct span json; /* the operator's file */
	struct template rules;
};

struct account {
	struct account_id  id;
	struct account_row row; /* name in `arena` */
	unsigned           key_count;
	uint8_t (*key_hashes)[32];
	unsigned                  template_count; /* template n is templates[n - 1] */
	struct account_template **templates;
	uint64_t                  ledger_last;
	double                    allowance; /* requests left under rate_limit */
	wall_us                   allowance_at;
	struct arena              arena;
	struct account           *next; /* in its cache slot */
};

/* Reads one from a view; range reads: before any staged write. account_free() takes it. */
must_check enum err account_load(struct view *view, struct account_id id, struct account **account);
void                account_free(struct account **account);

/* Does the account have this key? In time independent of the bytes. */
bool account_has_key(const struct account *account, const uint8_t hash[32]);

/* Takes one request off the account's rate; false when it is used up. */
bool account_admit(struct account *account, wall_us now);

/* The writer's cache. When it is full it begins anew: a miss costs a few point reads. */
enum { ACCOUNT_CACHE_MAX = 20000, ACCOUNT_CACHE_SLOTS = 32768 };
struct account_cache {
	struct account *slots[ACCOUNT_CACHE_SLOTS];
	unsigned        count;
};
must_check enum err account_cached(struct account_cache *cache, struct view *view, struct account_id id,
                                   struct account **account);
void                account_forget(struct account_cache *cache, struct account_id id);
void                account_forget_all(struct account_cache *cache);
