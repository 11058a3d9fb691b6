/* Accounts in the memory of a shard. A cached account is a copy of rows of the open transaction, never the
 * truth: whoever writes such a row has it forgotten. */
#include "actors/shard/account/account.h"

#include "schemas/crc32c.h"
#include "schemas/url.h"
#include "store/keys.h"
#include "store/ledger.h"
#include "store/rule.h"

#include <openssl/crypto.h>
#include <stdlib.h>

static enum err load_keys(struct view *view, struct account *account)
{
	struct key_row key = {0};
	enum err       err;
	account->key_hashes = arena_take(&account->arena, 32 * KEYS_PER_ACCOUNT_MAX);
	account->key_ids = arena_take(&account->arena, sizeof *account->key_ids * KEYS_PER_ACCOUNT_MAX);
	if (!account->key_hashes || !account->key_ids) return ERR_NO_MEMORY;
	while (!(err = key_row_next(view, account->id, &key)))
		if (!key.revoked.v && account->key_count < KEYS_PER_ACCOUNT_MAX) {
			account->key_ids[account->key_count] = key.id;
			memcpy(account->key_hashes[account->key_count++], key.hash, sizeof key.hash);
		}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err load_template(struct view *view, struct account *account, uint32_t number)
{
	struct row_key key = key_u32(account->id, number);
	struct account_template *template = arena_take(&account->arena, sizeof *template);
	struct file_fault fault;
	struct json      *json;
	struct span       value;
	enum err err = template ? view_get(view, TABLE_TEMPLATE, key_span(&key), &value) : ERR_NO_MEMORY;
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	uint8_t *text = arena_take(&account->arena, value.size ? value.size : 1);
	if (!text) return ERR_NO_MEMORY;
	memcpy(text, value.at, value.size);
	template->number = number;
	template->json = span_of(text, value.size);
	if (json_parse(template->json, &account->arena, &json)) return ERR_DAMAGED;
	if (template_read(json, &template->rules, &fault)) return ERR_DAMAGED;
	account->templates[account->template_count++] = template;
	return OK;
}

static enum err add_webhook(struct account *account, const struct subscription *row)
{
	struct account_webhook *webhook = &account->webhooks[account->webhook_count];
	struct buffer           normal = {0};
	enum err                err = url_normal(row->url, &normal);
	/* One that was let in under other rules counts as it is written. */
	struct span url = err ? row->url : buffer_span(&normal);
	uint8_t    *kept = err == ERR_NO_MEMORY ? NULL : arena_take(&account->arena, url.size);
	if (kept) {
		memcpy(kept, url.at, url.size);
		*webhook = (struct account_webhook){
		    .id = row->id, .generation = row->generation, .url = span_of(kept, url.size)};
		for (unsigned i = 0; i < row->kind_count; i++)
			webhook->kinds |= 1u << row->kinds[i];
		account->webhook_count++;
	}
	buffer_free(&normal);
	return kept ? OK : ERR_NO_MEMORY;
}

static enum err load_webhooks(struct view *view, struct account *account)
{
	struct subscription row = {.active = false};
	enum err            err;
	while (!(err = subscription_next(view, account->id, &row))) {
		account->webhooks_stored++;
		if (!row.active || account->webhook_count == WEBHOOKS_ACTIVE_MAX) continue;
		if ((err = add_webhook(account, &row))) return err;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err add_rule(struct account *account, const struct rule_row *row)
{
	struct account_rule *rule = arena_take(&account->arena, sizeof *rule);
	uint8_t             *text = arena_take(&account->arena, row->text.size);
	struct file_fault    fault;
	struct account_id    owner;
	struct json         *json;
	if (!rule || !text) return ERR_NO_MEMORY;
	memcpy(text, row->text.at, row->text.size);
	*rule = (struct account_rule){.id = row->id, .bytes = row->text.size};
	if (json_parse(span_of(text, row->text.size), &account->arena, &json)) return ERR_DAMAGED;
	if (rule_read(json, &rule->rule, &fault)) return ERR_DAMAGED;
	struct span template_id = rule->rule.template_id;
	if (template_id.size && !template_id_read(template_id, &owner, &rule->template)) return ERR_DAMAGED;
	account->rules[account->rule_count++] = rule;
	return OK;
}

enum err account_load_rules(struct view *view, struct account *account)
{
	struct rule_row row = {.created = {0}};
	struct buffer   room = {0};
	enum err        err;
	while (!(err = rule_row_next(view, account->id, &room, &row))) {
		if (!account->rules) account->rules = arena_take(&account->arena, sizeof(void *) * RULES_MAX);
		if (!account->rules) err = ERR_NO_MEMORY;
		if (account->rule_count == RULES_MAX) err = ERR_DAMAGED;
		if (err || (err = add_rule(account, &row))) break;
	}
	buffer_free(&room);
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err account_load(struct view *view, struct account_id id, struct account **out)
{
	struct account *account = calloc(1, sizeof *account);
	enum err        err = ERR_NO_MEMORY;
	*out = NULL;
	if (!account) return err;
	account->id = id;
	if ((err = account_row_get(view, id, &account->row))) goto out;
	uint8_t *name = arena_take(&account->arena, account->row.name.size + 1);
	account->templates = arena_take(&account->arena, sizeof(void *) * (account->row.template_count + 1));
	err = ERR_NO_MEMORY;
	if (!name || !account->templates) goto out;
	memcpy(name, account->row.name.at, account->row.name.size);
	account->row.name.at = name;
	if ((err = load_keys(view, account))) goto out;
	for (uint32_t number = 1; !err && number <= account->row.template_count; number++)
		err = load_template(view, account, number);
	if (err || (err = load_webhooks(view, account))) goto out;
	err = ledger_last(view, id, &account->ledger_last);
out:
	if (err) account_free(&account);
	*out = account;
	return err;
}

void account_free(struct account **account_p)
{
	struct account *account = *account_p;
	if (!account) return;
	arena_free(&account->arena);
	free(account);
	*account_p = NULL;
}

const struct uuid *account_key(const struct account *account, const uint8_t hash[32])
{
	unsigned found = KEYS_PER_ACCOUNT_MAX;
	for (unsigned i = 0; i < account->key_count; i++) {
		unsigned same = (unsigned)(CRYPTO_memcmp(account->key_hashes[i], hash, 32) == 0);
		found = same * i + (1 - same) * found;
	}
	return found < KEYS_PER_ACCOUNT_MAX ? &account->key_ids[found] : NULL;
}

static struct account **slot_of(struct account_cache *cache, struct account_id id)
{
	return &cache->slots[crc32c(0, id.b, sizeof id.b) % ACCOUNT_CACHE_SLOTS];
}

enum err account_cached(struct account_cache *cache, struct view *view, struct account_id id,
                        struct account **out)
{
	struct account **slot = slot_of(cache, id);
	for (*out = *slot; *out; *out = (*out)->next)
		if (!memcmp((*out)->id.b, id.b, sizeof id.b)) return OK;
	enum err err = account_load(view, id, out);
	if (!err && (err = account_load_rules(view, *out))) account_free(out);
	if (err) return err;
	if (cache->count == ACCOUNT_CACHE_MAX) account_forget_all(cache);
	(*out)->next = *slot;
	*slot = *out;
	cache->count++;
	return OK;
}

void account_forget(struct account_cache *cache, struct account_id id)
{
	for (struct account **at = slot_of(cache, id); *at; at = &(*at)->next) {
		struct account *account = *at;
		if (memcmp(account->id.b, id.b, sizeof id.b)) continue;
		*at = account->next;
		account_free(&account);
		cache->count--;
		return;
	}
}

void account_forget_all(struct account_cache *cache)
{
	for (unsigned i = 0; i < ACCOUNT_CACHE_SLOTS; i++) {
		while (cache->slots[i]) {
			struct account *account = cache->slots[i];
			cache->slots[i] = account->next;
			account_free(&account);
		}
	}
	cache->count = 0;
}
