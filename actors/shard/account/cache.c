/* The writer's cache of accounts. An entry has the newest version of its account, that of the open transaction. Written rows
 * make the next version, which readers can reach before the transaction commits. */
#include "actors/shard/account/cache.h"

#include "actors/shard/account/parts.h"
#include "schemas/bytes.h"
#include "schemas/crc32c.h"

#include <stdlib.h>

struct account_entry {
	struct account       *now;
	struct account_ends   ends;
	struct account_entry *next; /* in its slot */
	struct account_entry *newer, *older;
};

static struct account_entry **slot_of(struct account_cache *cache, struct account_id id)
{
	return &cache->slots[crc32c(0, id.b, sizeof id.b) % ACCOUNT_CACHE_SLOTS];
}

/* The link to the entry, or the link that is NULL. */
static struct account_entry **find(struct account_cache *cache, struct account_id id)
{
	struct account_entry **at = slot_of(cache, id);
	while (*at && !account_same((*at)->now->id, id))
		at = &(*at)->next;
	return at;
}

/* The order of use ---------------------------------------------------------------------------------------- */

static void take_out(struct account_cache *cache, struct account_entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void put_first(struct account_cache *cache, struct account_entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

static void drop(struct account_cache *cache, struct account_entry **at)
{
	struct account_entry *entry = *at;
	*at = entry->next;
	take_out(cache, entry);
	cache->count--;
	/* The version has no successor from now on: its readers read the tables. */
	atomic_store_explicit(&entry->now->until, 0, memory_order_release);
	account_free(&entry->now);
	free(entry);
}

static bool is_full(const struct account_cache *cache)
{
	return cache->count > ACCOUNT_CACHE_MAX || account_bytes() > ACCOUNT_CACHE_BYTES_MAX;
}

/* The newest stays. Parts that readers still have keep their memory, so the number is bounded. */
static void make_room(struct account_cache *cache)
{
	enum { DROPPED_MAX = 16 };
	for (unsigned i = 0; i < DROPPED_MAX && is_full(cache) && cache->count > 1; i++)
		drop(cache, find(cache, cache->oldest->now->id));
}

static enum err add(struct account_cache *cache, struct view *view, struct account_id id,
                    struct account_entry **at)
{
	struct account_entry *entry = calloc(1, sizeof *entry);
	enum err              err = entry ? account_load(view, id, &entry->now) : ERR_NO_MEMORY;
	if (!err) err = account_ends_get(view, id, &entry->ends);
	if (err) {
		if (entry) account_free(&entry->now);
		free(entry);
		return err;
	}
	*at = entry;
	put_first(cache, entry);
	cache->count++;
	return OK;
}

enum err account_cached(struct account_cache *cache, struct view *view, struct account_id id,
                        struct account **account)
{
	struct account_entry **at = find(cache, id);
	*account = NULL;
	enum err err = *at ? OK : add(cache, view, id, at);
	if (err) return err;
	struct account_entry *entry = *at;
	if (cache->newest != entry) {
		take_out(cache, entry);
		put_first(cache, entry);
	}
	make_room(cache);
	*account = entry->now;
	return OK;
}

struct account_ends *account_ends(struct account_cache *cache, struct account_id id)
{
	struct account_entry *entry = *find(cache, id);
	return entry ? &entry->ends : NULL;
}

void account_forget(struct account_cache *cache, struct account_id id)
{
	struct account_entry **at = find(cache, id);
	if (*at) drop(cache, at);
}

void account_forget_all(struct account_cache *cache)
{
	while (cache->oldest)
		account_forget(cache, cache->oldest->now->id);
}

/* Written rows --------------------------------------------------------------------------------------------- */

/* The id behind the account's in a key; zeros: the key has none. */
static struct uuid uuid_of(struct span key)
{
	struct uuid id = {.b = {0}};
	if (key.size == sizeof(struct account_id) + sizeof id)
		memcpy(id.b, key.at + sizeof(struct account_id), sizeof id.b);
	return id;
}

static enum err change_row(struct account **next, const struct write *write)
{
	struct account_row row;
	struct account    *made;
	enum err           err = account_row_read(write->value, &row);
	if (err || (err = account_copy(*next, &row, &made))) return err;
	account_free(next);
	*next = made;
	if (row.template_count == made->templates->count) return OK;
	struct account_templates *templates = account_templates_change(made->templates, row.template_count,
	                                                               0);
	if (!templates) return ERR_NO_MEMORY;
	account_templates_free(&made->templates);
	made->templates = templates;
	return OK;
}

static enum err change_template(struct account *next, const struct write *write)
{
	uint32_t number = get_be32(write->key.at + sizeof(struct account_id));
	if (number > next->templates->count)
		return OK; /* the account's row, in the same commit, raises the count */
	struct account_templates *templates = account_templates_change(next->templates,
	                                                               next->templates->count, number);
	if (!templates) return ERR_NO_MEMORY;
	account_templates_free(&next->templates);
	next->templates = templates;
	return OK;
}

static enum err change_keys(struct account *next, const struct write *write, struct view *view)
{
	struct key_row       row;
	struct account_keys *keys = NULL;
	bool                 is_put = write->kind == WRITE_PUT;
	struct uuid          id = uuid_of(write->key);
	row.id = id;
	enum err err = is_put ? key_row_read(write->value, &row) : OK;
	if (!err) err = account_keys_change(next->keys, id, is_put ? &row : NULL, &keys);
	if (!err && !keys) err = account_keys_load(view, next->id, &keys);
	if (err) return err;
	account_keys_free(&next->keys);
	next->keys = keys;
	return OK;
}

static enum err change_webhooks(struct account *next, const struct write *write, struct view *view)
{
	struct subscription      row;
	struct account_webhooks *webhooks = NULL;
	bool                     is_put = write->kind == WRITE_PUT;
	struct uuid              id = uuid_of(write->key);
	row.id = id;
	enum err err = is_put ? subscription_read(write->value, &row) : OK;
	if (!err) err = account_webhooks_change(next->webhooks, id, is_put ? &row : NULL, &webhooks);
	if (!err && !webhooks) err = account_webhooks_load(view, next->id, &webhooks);
	if (err) return err;
	account_webhooks_free(&next->webhooks);
	next->webhooks = webhooks;
	return OK;
}

static enum err change_rules(struct account *next, const struct write *write)
{
	struct rule_row       row;
	struct account_rules *rules;
	bool                  is_put = write->kind == WRITE_PUT;
	struct uuid           id = uuid_of(write->key);
	row.id = id;
	if (!next->rules) return OK; /* not read yet */
	enum err err = is_put ? rule_row_read(write->value, &row) : OK;
	if (!err) err = account_rules_change(next->rules, id, is_put ? &row : NULL, &rules);
	if (err) return err;
	account_rules_free(&next->rules);
	next->rules = rules;
	return OK;
}

static bool is_setting(enum table table)
{
	return ACCOUNT_SETTINGS & TABLE_BIT(table);
}

static enum err change(struct account **next, const struct write *write, struct view *view)
{
	bool is_whole = write->kind == WRITE_PUT || write->kind == WRITE_DEL;
	if (!is_whole) return ERR_UNSUPPORTED;
	switch (write->table) {
	case TABLE_ACCOUNT: return write->kind == WRITE_PUT ? change_row(next, write) : ERR_UNSUPPORTED;
	case TABLE_TEMPLATE: return change_template(*next, write);
	case TABLE_KEY: return change_keys(*next, write, view);
	case TABLE_SUBSCRIPTION: return change_webhooks(*next, write, view);
	default: return change_rules(*next, write);
	}
}

/* Sets the successor first, then the moment from which it is valid: readers look in the other order. */
static void publish(struct account_entry *entry, struct account *next, uint64_t moment)
{
	atomic_store_explicit(&entry->now->newer, account_share(next), memory_order_release);
	atomic_store_explicit(&entry->now->until, moment, memory_order_release);
	account_free(&entry->now);
	entry->now = next;
}

/* Applies the changes of one account that begin at writes->rows[*at]. */
static void follow(struct account_cache *cache, const struct writes *writes, unsigned *at, struct view *view)
{
	struct account_id id;
	struct account   *next = NULL;
	memcpy(id.b, writes->rows[*at].key.at, sizeof id.b);
	struct account_entry *entry = *find(cache, id);
	enum err              err = entry ? account_copy(entry->now, &entry->now->row, &next) : OK;
	for (; *at < writes->count; ++*at) {
		const struct write *write = &writes->rows[*at];
		if (!is_setting(write->table)) continue;
		if (memcmp(write->key.at, id.b, sizeof id.b)) break;
		if (entry && !err) err = change(&next, write, view);
	}
	if (!entry) return;
	if (!err) {
		publish(entry, next, view_txn(view));
		return;
	}
	account_free(&next);
	account_forget(cache, id);
}

void account_on_writes(struct account_cache *cache, const struct writes *writes, struct view *view)
{
	unsigned at = 0;
	while (at < writes->count) {
		if (is_setting(writes->rows[at].table))
			follow(cache, writes, &at, view);
		else
			at++;
	}
}
