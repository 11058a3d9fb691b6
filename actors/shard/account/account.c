/* Accounts in memory: immutable versions of immutable parts, with reference counts.
 *
 * Life of a version: the writer makes it from the tables (account_load()). When such rows are written, it makes the next
 * version (cache.c), which shares all unchanged parts. A version never changes. The cache refers to the newest version, a
 * reader's job to the version that it was lent, and each version to the next one. The last reference frees it, on any thread.
 *
 * Readers: a job is lent the version of the moment at which it is released, and its view begins then or later. The version is
 * valid up to the moment `until`, which is set before the commit of that moment; `newer` is valid from then on. So a reader
 * walks to the version of its view's moment, whatever is written meanwhile. If the cache has dropped the account on the way,
 * the walk ends at NULL and the reader reads the tables.
 *
 * Templates are filled in later, by any thread. Its view is of the version's moment, so two threads that do so at once read the
 * same rows, and one of the results is kept. Only the writer uses rules and keys. */
#include "actors/shard/account/parts.h"

#include <openssl/crypto.h>
#include <stdlib.h>

static enum err account_new(struct account_id id, const struct account_row *row, struct account **out)
{
	struct account *account = *out = calloc(1, sizeof *account + row->name.size + 1);
	if (!account) return ERR_NO_MEMORY;
	atomic_init(&account->refs, 1);
	atomic_init(&account->until, UINT64_MAX);
	account->id = id;
	account->row = *row;
	memcpy(account->name, row->name.at, row->name.size);
	account->row.name.at = account->name;
	return OK;
}

enum err account_load(struct view *view, struct account_id id, struct account **out)
{
	struct account_row row;
	struct account    *account = NULL;
	enum err           err = account_row_get(view, id, &row);
	if (err || (err = account_new(id, &row, &account))) goto out;
	if (!(account->templates = account_templates_new(row.template_count))) err = ERR_NO_MEMORY;
	if (!err) err = account_webhooks_load(view, id, &account->webhooks);
	if (!err) err = account_keys_load(view, id, &account->keys);
out:
	if (err) account_free(&account);
	*out = account;
	return err;
}

enum err account_copy(const struct account *before, const struct account_row *row, struct account **out)
{
	enum err err = account_new(before->id, row, out);
	if (err) return err;
	(*out)->templates = account_templates_share(before->templates);
	(*out)->webhooks = account_webhooks_share(before->webhooks);
	(*out)->keys = account_keys_share(before->keys);
	(*out)->rules = account_rules_share(before->rules);
	return OK;
}

struct account *account_share(struct account *account)
{
	atomic_fetch_add_explicit(&account->refs, 1, memory_order_relaxed);
	return account;
}

/* Also frees the following versions, as far as they have no other reference. */
void account_free(struct account **account_p)
{
	struct account *account = *account_p;
	*account_p = NULL;
	while (account && atomic_fetch_sub_explicit(&account->refs, 1, memory_order_acq_rel) == 1) {
		struct account *newer = atomic_load_explicit(&account->newer, memory_order_relaxed);
		account_templates_free(&account->templates);
		account_webhooks_free(&account->webhooks);
		account_keys_free(&account->keys);
		account_rules_free(&account->rules);
		free(account);
		account = newer;
	}
}

const struct uuid *account_key(const struct account *account, const uint8_t hash[32])
{
	unsigned found = KEYS_PER_ACCOUNT_MAX;
	for (unsigned i = 0; i < account->keys->count; i++) {
		unsigned same = (unsigned)(CRYPTO_memcmp(account->keys->of[i].hash, hash, 32) == 0);
		found = same * i + (1 - same) * found;
	}
	return found < KEYS_PER_ACCOUNT_MAX ? &account->keys->of[found].id : NULL;
}

enum err account_load_rules(struct view *view, struct account *account)
{
	return account->rules ? OK : account_rules_load(view, account->id, &account->rules);
}

static enum err find_template(const struct account *account, struct view *view, uint32_t number,
                              const struct account_template **out)
{
	must(number >= 1 && number <= account->templates->count);
	_Atomic(struct account_template *) *at = &account->templates->of[number - 1];
	struct account_template            *found = atomic_load_explicit(at, memory_order_acquire), *made;
	if (!found) {
		enum err err = account_template_load(view, account->id, number, &made);
		if (err) return err;
		if (atomic_compare_exchange_strong(at, &found, made))
			found = made;
		else
			account_template_free(&made);
	}
	*out = found;
	return found->is_deleted ? ERR_NOT_FOUND : OK;
}

enum err account_template(const struct account *account, struct view *view, uint32_t number,
                          const struct template **template)
{
	const struct account_template *found;
	enum err                       err = find_template(account, view, number, &found);
	if (!err) *template = &found->rules;
	return err;
}

enum err account_template_wallet(const struct account *account, struct view *view, uint32_t number,
                                 struct wallet_settings *room, const struct wallet_settings **wallet)
{
	const struct account_template *found;
	enum err                       err = find_template(account, view, number, &found);
	if (err) return err;
	*wallet = found->wallet;
	if (*wallet) return OK;
	wallet_settings_default(&found->rules, room);
	*wallet = room;
	return OK;
}

enum err account_template_look(const struct account *account, struct view *view, uint32_t number,
                               uint32_t *look, wall_us *changed)
{
	const struct account_template *found;
	enum err                       err = find_template(account, view, number, &found);
	if (err) return err;
	*look = account->row.name_look > found->look ? account->row.name_look : found->look;
	*changed = account->row.named.v > found->changed.v ? account->row.named : found->changed;
	return OK;
}

enum err account_usable_template(const struct account *account, struct view *view, uint32_t number,
                                 const struct template **template)
{
	const struct account_template *found;
	enum err                       err = find_template(account, view, number, &found);
	if (err) return err;
	*template = &found->rules;
	return found->is_retired ? ERR_NOT_FOUND : OK;
}

enum err account_first_template(const struct account *account, struct view *view, uint32_t *number)
{
	struct account_templates *templates = account->templates;
	*number = atomic_load_explicit(&templates->first, memory_order_relaxed);
	if (*number) return OK;
	enum err err = account_template_first(view, account->id, number);
	if (!err) atomic_store_explicit(&templates->first, *number, memory_order_relaxed);
	return err;
}

/* Versions lent to readers --------------------------------------------------------------------------------- */

void lent_add(struct lent *lent, struct account *account)
{
	if (lent->count < LENT_MAX) lent->of[lent->count++] = account_share(account);
}

void lent_free(struct lent *lent)
{
	while (lent->count)
		account_free(&lent->of[--lent->count]);
}

static struct account *version_at(struct account *account, uint64_t moment)
{
	while (account && atomic_load_explicit(&account->until, memory_order_acquire) <= moment)
		account = atomic_load_explicit(&account->newer, memory_order_acquire);
	return account;
}

enum err account_at(struct view *view, const struct lent *lent, struct account_id id, struct account **out)
{
	struct account *found = NULL;
	for (unsigned i = 0; lent && i < lent->count && !found; i++)
		if (account_same(lent->of[i]->id, id)) found = version_at(lent->of[i], view_txn(view));
	if (!found) return account_load(view, id, out);
	*out = account_share(found);
	return OK;
}
