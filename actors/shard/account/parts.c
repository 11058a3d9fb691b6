/* The parts of an account in memory, except its rules. Each is written once, by its maker, and has a reference from each account
 * and each larger part that shares it. */
#include "actors/shard/account/parts.h"

#include "schemas/url.h"
#include "store/keys.h"
#include "store/template_row.h"
#include "store/template_state.h"

#include <stdlib.h>

static atomic_size_t parsed_bytes;

size_t account_bytes(void)
{
	return atomic_load_explicit(&parsed_bytes, memory_order_relaxed);
}

static void count_bytes(size_t bytes)
{
	atomic_fetch_add_explicit(&parsed_bytes, bytes, memory_order_relaxed);
}

static bool lets_go(atomic_uint *refs)
{
	unsigned before = atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel);
	must(before > 0);
	return before == 1;
}

/* part_end() frees what the part itself has. */
#define PART(part)                                                                     \
	struct part *part##_share(struct part *it)                                     \
	{                                                                              \
		if (it) atomic_fetch_add_explicit(&it->refs, 1, memory_order_relaxed); \
		return it;                                                             \
	}                                                                              \
	void part##_free(struct part **it_p)                                           \
	{                                                                              \
		struct part *it = *it_p;                                               \
		*it_p = NULL;                                                          \
		if (!it || !lets_go(&it->refs)) return;                                \
		part##_end(it);                                                        \
		free(it);                                                              \
	}

static void account_keys_end(struct account_keys *keys)
{
	(void)keys;
}

static void account_ids_end(struct account_ids *ids)
{
	(void)ids;
}

static void account_webhook_end(struct account_webhook *webhook)
{
	(void)webhook;
}

static void account_template_end(struct account_template *template)
{
	count_bytes(0 - template->bytes);
	free(template->wallet);
}

static void account_rule_end(struct account_rule *rule)
{
	count_bytes(0 - rule->bytes);
	free(rule->words);
}

PART(account_keys)
PART(account_ids)
PART(account_webhook)
PART(account_template)
PART(account_rule)

static void account_templates_end(struct account_templates *templates)
{
	for (uint32_t i = 0; i < templates->count; i++) {
		struct account_template *template = atomic_load_explicit(&templates->of[i],
		                                                         memory_order_relaxed);
		account_template_free(&template);
	}
}

static void account_webhooks_end(struct account_webhooks *webhooks)
{
	for (unsigned i = 0; i < webhooks->count; i++)
		account_webhook_free(&webhooks->of[i]);
	account_ids_free(&webhooks->stored);
}

static void account_rules_end(struct account_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		account_rule_free(&rules->of[i]);
}

PART(account_templates)
PART(account_webhooks)
PART(account_rules)

/* Keys ---------------------------------------------------------------------------------------------------- */

static void add_key(struct account_keys *keys, const struct key_row *row)
{
	if (keys->count == KEYS_PER_ACCOUNT_MAX) {
		keys->has_more = true;
		return;
	}
	struct account_key *key = &keys->of[keys->count++];
	key->id = row->id;
	memcpy(key->hash, row->hash, sizeof key->hash);
}

static struct account_keys *keys_new(void)
{
	struct account_keys *keys = calloc(1, sizeof *keys);
	if (keys) atomic_init(&keys->refs, 1);
	return keys;
}

enum err account_keys_load(struct view *view, struct account_id id, struct account_keys **out)
{
	struct account_keys *keys = keys_new();
	struct key_row       row = {0};
	enum err             err = keys ? OK : ERR_NO_MEMORY;
	while (!err && !(err = key_row_next(view, id, &row)))
		if (!row.revoked.v) add_key(keys, &row);
	if (err == ERR_NOT_FOUND) err = OK;
	if (err) account_keys_free(&keys);
	*out = keys;
	return err;
}

enum err account_keys_change(const struct account_keys *before, struct uuid id, const struct key_row *row,
                             struct account_keys **out)
{
	*out = NULL;
	if (before->has_more) return OK;
	struct account_keys *keys = keys_new();
	if (!keys) return ERR_NO_MEMORY;
	for (unsigned i = 0; i < before->count; i++)
		if (!uuid_same(before->of[i].id, id)) keys->of[keys->count++] = before->of[i];
	if (row && !row->revoked.v) add_key(keys, row);
	if (keys->has_more) account_keys_free(&keys);
	*out = keys;
	return OK;
}

/* Templates ----------------------------------------------------------------------------------------------- */

struct account_templates *account_templates_new(uint32_t count)
{
	struct account_templates *templates = calloc(1, sizeof *templates + count * sizeof templates->of[0]);
	if (!templates) return NULL;
	atomic_init(&templates->refs, 1);
	templates->count = count;
	return templates;
}

struct account_templates *account_templates_change(struct account_templates *before, uint32_t count,
                                                   uint32_t number)
{
	struct account_templates *templates = account_templates_new(count);
	if (!templates) return NULL;
	uint32_t first = atomic_load_explicit(&before->first, memory_order_relaxed);
	atomic_init(&templates->first, number == first ? 0 : first);
	for (uint32_t i = 0; i < count && i < before->count; i++) {
		struct account_template *same = atomic_load_explicit(&before->of[i], memory_order_acquire);
		if (i + 1 == number) continue;
		atomic_init(&templates->of[i], account_template_share(same));
	}
	return templates;
}

static size_t texts_size(struct span *const texts[], unsigned count)
{
	size_t bytes = 0;
	for (unsigned i = 0; i < count; i++)
		bytes += texts[i]->size;
	return bytes;
}

static void move_texts(struct span *const texts[], unsigned count, uint8_t *to)
{
	for (unsigned i = 0; i < count; i++) {
		if (!texts[i]->size) continue;
		memcpy(to, texts[i]->at, texts[i]->size);
		texts[i]->at = to;
		to += texts[i]->size;
	}
}

/* Every text of a template. */
enum { TEMPLATE_TEXTS = 6 + 2 * TEMPLATE_FIELDS_MAX };
static unsigned texts_of(struct template *rules, struct span *texts[TEMPLATE_TEXTS])
{
	struct span *own[] = {&rules->name, &rules->name_field, &rules->title, &rules->background_color,
	                      &rules->logo, &rules->banner};
	unsigned     count = sizeof own / sizeof *own;
	memcpy(texts, own, sizeof own);
	for (unsigned i = 0; i < rules->field_count; i++) {
		texts[count++] = &rules->fields[i].key;
		texts[count++] = &rules->fields[i].label;
	}
	return count;
}

/* Every text of settings for wallets. */
enum {
	WALLET_OWN_TEXTS = 9,
	WALLET_TEXTS = WALLET_OWN_TEXTS + TEMPLATE_FIELDS_MAX + 3 * WALLET_LOCATIONS_MAX +
	               2 * WALLET_LINKS_MAX
};
static unsigned wallet_texts_of(struct wallet_settings *wallet, struct span *texts[WALLET_TEXTS])
{
	struct span *own[WALLET_OWN_TEXTS] = {
	    &wallet->organization,  &wallet->description,      &wallet->logo_text,
	    &wallet->message_label, &wallet->foreground_color, &wallet->label_color,
	    &wallet->icon,          &wallet->relevant,         &wallet->expires};
	unsigned count = WALLET_OWN_TEXTS;
	memcpy(texts, own, sizeof own);
	for (unsigned i = 0; i < TEMPLATE_FIELDS_MAX; i++)
		texts[count++] = &wallet->changes[i];
	for (unsigned i = 0; i < wallet->location_count; i++) {
		texts[count++] = &wallet->locations[i].latitude;
		texts[count++] = &wallet->locations[i].longitude;
		texts[count++] = &wallet->locations[i].text;
	}
	for (unsigned i = 0; i < wallet->link_count; i++) {
		texts[count++] = &wallet->links[i].label;
		texts[count++] = &wallet->links[i].url;
	}
	return count;
}

static struct wallet_settings *keep_wallet(const struct wallet_settings *read, size_t *bytes)
{
	struct span           *texts[WALLET_TEXTS];
	struct wallet_settings settings = *read;
	size_t                 size = sizeof settings;
	size += texts_size(texts, wallet_texts_of(&settings, texts));
	struct wallet_settings *wallet = malloc(size);
	if (!wallet) return NULL;
	*wallet = settings;
	move_texts(texts, wallet_texts_of(wallet, texts), (uint8_t *)(wallet + 1));
	*bytes += size;
	return wallet;
}

/* A copy with texts of its own, in one allocation: the JSON tree is several times as large. */
static struct account_template *keep_template(struct template *rules, const struct wallet_settings *wallet)
{
	struct span *texts[TEMPLATE_TEXTS];
	unsigned     count = texts_of(rules, texts);
	size_t       bytes = texts_size(texts, count);
	struct account_template *template = calloc(1, sizeof *template + bytes);
	if (!template) return NULL;
	atomic_init(&template->refs, 1);
	template->bytes = sizeof *template + bytes;
	if (wallet->is_given && !(template->wallet = keep_wallet(wallet, &template->bytes))) {
		free(template);
		return NULL;
	}
	template->rules = *rules;
	if (rules->counter) template->rules.counter = &template->rules.fields[rules->counter - rules->fields];
	count = texts_of(&template->rules, texts);
	move_texts(texts, count, template->text);
	count_bytes(template->bytes);
	return template;
}

/* One object stands for all deleted templates; it is never freed. */
static struct account_template deleted = {.refs = 1, .is_deleted = true};

static enum err find_deleted(struct view *view, struct account_id id, uint32_t number,
                             struct account_template **out)
{
	struct template_use use;
	enum err            err = template_use_get(view, id, number, &use);
	if (err || use.state != TEMPLATE_DELETED) return err ? err : ERR_DAMAGED;
	*out = account_template_share(&deleted);
	return OK;
}

enum err account_template_first(struct view *view, struct account_id id, uint32_t *number)
{
	struct row_key      account = key_account(id);
	struct buffer       room = {0};
	struct view_row     row;
	struct template_use use = {.state = TEMPLATE_RETIRED};
	enum err            err = view_parted_from(view, TABLE_TEMPLATE, key_span(&account), &room, &row);
	while (!err) {
		if (!key_has_prefix(row.key, key_span(&account))) err = ERR_NOT_FOUND;
		if (!err && row.key.size != account.size + 4) err = ERR_DAMAGED;
		if (err) break;
		*number = get_be32(row.key.at + account.size);
		err = template_use_get(view, id, *number, &use);
		if (err || use.state != TEMPLATE_RETIRED) break;
		err = view_parted_next(view, TABLE_TEMPLATE, &room, &row);
	}
	buffer_free(&room);
	return err;
}

enum err account_template_load(struct view *view, struct account_id id, uint32_t number,
                               struct account_template **out)
{
	struct template rules;
	struct wallet_settings wallet;
	struct file_fault      fault;
	struct arena           arena = {0};
	struct json           *json;
	struct template_row    row;
	struct template_use    use;
	enum err               err = template_row_get(view, id, number, &row);
	*out = NULL;
	if (err == ERR_NOT_FOUND) return find_deleted(view, id, number, out);
	if (err || (err = template_use_get(view, id, number, &use))) return err;
	err = json_parse(row.text, &arena, &json);
	if (err && err != ERR_NO_MEMORY) err = ERR_DAMAGED;
	if (!err && wallet_template_read(json, &rules, &wallet, &fault)) err = ERR_DAMAGED;
	if (!err && !(*out = keep_template(&rules, &wallet))) err = ERR_NO_MEMORY;
	if (!err) (*out)->is_retired = use.state == TEMPLATE_RETIRED;
	if (!err) {
		/*X*/
		(*out)->look = row.look;
		(*out)->changed = row.changed;
	}
	arena_free(&arena);
	return err;
}

/* Rules --------------------------------------------------------------------------------------------------- */

enum err account_rule_keep(struct account_rule *rule, const struct rule *read)
{
	struct span *texts[2 + RULE_OWN_ACTIONS_MAX] = {&rule->rule.template_id, &rule->rule.reader_id};
	rule->rule = *read;
	rule->rule.name = span_of(NULL, 0);
	for (unsigned i = 0; i < RULE_OWN_ACTIONS_MAX; i++)
		texts[2 + i] = &rule->rule.actions[i].text;
	size_t bytes = texts_size(texts, 2 + rule->rule.action_count);
	rule->words = malloc(bytes + 1);
	if (!rule->words) return ERR_NO_MEMORY;
	move_texts(texts, 2 + rule->rule.action_count, rule->words);
	rule->is_read = true;
	rule->bytes = sizeof *rule + rule->text.size + bytes;
	count_bytes(rule->bytes);
	return OK;
}

/* Subscriptions ------------------------------------------------------------------------------------------- */

static struct account_ids *ids_new(unsigned count)
{
	struct account_ids *ids = calloc(1, sizeof *ids + count * sizeof ids->of[0]);
	if (ids) atomic_init(&ids->refs, 1);
	return ids;
}

static enum err webhook_new(const struct subscription *row, struct account_webhook **out)
{
	struct buffer normal = {0};
	enum err      err = url_normal(row->url, &normal);
	/* A URL that was accepted under other rules is compared as it is written. */
	struct span             url = err ? row->url : buffer_span(&normal);
	struct account_webhook *webhook = err == ERR_NO_MEMORY ? NULL : calloc(1, sizeof *webhook + url.size);
	if (webhook) {
		atomic_init(&webhook->refs, 1);
		webhook->id = row->id;
		webhook->generation = row->generation;
		memcpy(webhook->text, url.at, url.size);
		webhook->url = span_of(webhook->text, url.size);
		for (unsigned i = 0; i < row->kind_count; i++)
			webhook->kinds |= 1u << row->kinds[i];
	}
	buffer_free(&normal);
	*out = webhook;
	return webhook ? OK : ERR_NO_MEMORY;
}

static struct account_webhooks *webhooks_new(void)
{
	struct account_webhooks *webhooks = calloc(1, sizeof *webhooks);
	if (webhooks) atomic_init(&webhooks->refs, 1);
	return webhooks;
}

/* Inserts it by id, which is the order of creation. */
static void place_webhook(struct account_webhooks *webhooks, struct account_webhook *webhook)
{
	unsigned at = webhooks->count++;
	for (; at && memcmp(webhooks->of[at - 1]->id.b, webhook->id.b, sizeof webhook->id.b) > 0; at--)
		webhooks->of[at] = webhooks->of[at - 1];
	webhooks->of[at] = webhook;
}

static enum err add_webhook(struct account_webhooks *webhooks, const struct subscription *row)
{
	struct account_webhook *webhook;
	if (!row->active) return OK;
	if (webhooks->count == WEBHOOKS_ACTIVE_MAX) {
		webhooks->has_more = true;
		return OK;
	}
	enum err err = webhook_new(row, &webhook);
	if (!err) place_webhook(webhooks, webhook);
	return err;
}

static enum err load_webhooks(struct view *view, struct account_id id, struct account_webhooks *webhooks,
                              struct buffer *ids)
{
	struct subscription row = {.active = false};
	enum err            err;
	while (!(err = subscription_next(view, id, &row))) {
		buffer_append(ids, row.id.b, sizeof row.id.b);
		if ((err = add_webhook(webhooks, &row))) return err;
	}
	if (err != ERR_NOT_FOUND) return err;
	webhooks->stored = ids_new((unsigned)(ids->size / sizeof row.id));
	if (ids->failed || !webhooks->stored) return ERR_NO_MEMORY;
	webhooks->stored->count = (unsigned)(ids->size / sizeof row.id);
	if (ids->size) memcpy(webhooks->stored->of, ids->at, ids->size);
	return OK;
}

enum err account_webhooks_load(struct view *view, struct account_id id, struct account_webhooks **out)
{
	struct buffer            ids = {0};
	struct account_webhooks *webhooks = webhooks_new();
	enum err                 err = webhooks ? load_webhooks(view, id, webhooks, &ids) : ERR_NO_MEMORY;
	buffer_free(&ids);
	if (err) account_webhooks_free(&webhooks);
	*out = webhooks;
	return err;
}

/* The ids with this one, or without it; the same object if nothing changes. */
static struct account_ids *change_ids(struct account_ids *before, struct uuid id, bool is_there)
{
	unsigned at = 0;
	while (at < before->count && memcmp(before->of[at].b, id.b, sizeof id.b) < 0)
		at++;
	bool was_there = at < before->count && uuid_same(before->of[at], id);
	if (was_there == is_there) return account_ids_share(before);
	struct account_ids *ids = ids_new(before->count + is_there);
	if (!ids) return NULL;
	ids->count = before->count + is_there - was_there;
	memcpy(ids->of, before->of, at * sizeof id);
	if (is_there) ids->of[at] = id;
	memcpy(&ids->of[at + is_there], &before->of[at + was_there],
	       (before->count - at - was_there) * sizeof id);
	return ids;
}

enum err account_webhooks_change(const struct account_webhooks *before, struct uuid id,
                                 const struct subscription *row, struct account_webhooks **out)
{
	*out = NULL;
	if (before->has_more) return OK;
	struct account_webhooks *webhooks = webhooks_new();
	if (!webhooks) return ERR_NO_MEMORY;
	for (unsigned i = 0; i < before->count; i++)
		if (!uuid_same(before->of[i]->id, id))
			webhooks->of[webhooks->count++] = account_webhook_share(before->of[i]);
	enum err err = row ? add_webhook(webhooks, row) : OK;
	if (!err && !(webhooks->stored = change_ids(before->stored, id, row != NULL))) err = ERR_NO_MEMORY;
	/* Beyond the maximum the first rows count: the part has to be loaded again. */
	if (err || webhooks->has_more) account_webhooks_free(&webhooks);
	*out = webhooks;
	return err;
}
