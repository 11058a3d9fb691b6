/* What is kept between lists: a short array, most recently used first. */
#include "actors/shard/list/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct list_cache {
	pthread_mutex_t         mutex;
	unsigned                count;
	struct list_cache_item *items[LIST_CACHE_MAX + 1]; /* one too many for a moment */
};

enum err list_cache_new(struct list_cache **out)
{
	struct list_cache *cache = calloc(1, sizeof *cache);
	if (!(*out = cache)) return ERR_NO_MEMORY;
	pthread_mutex_init(&cache->mutex, NULL);
	return OK;
}

void list_cache_drop(struct list_cache_item *item)
{
	item->kind->drop(item);
}

void list_cache_free(struct list_cache **cache_p)
{
	struct list_cache *cache = *cache_p;
	*cache_p = NULL;
	if (!cache) return;
	while (cache->count)
		list_cache_drop(cache->items[--cache->count]);
	pthread_mutex_destroy(&cache->mutex);
	free(cache);
}

static struct list_cache_item *find(struct list_cache *cache, enum table table, struct account_id account)
{
	struct list_cache_item *found = NULL;
	unsigned                i = 0;
	if (!cache) return NULL;
	pthread_mutex_lock(&cache->mutex);
	while (i < cache->count && (cache->items[i]->table != table ||
	                            memcmp(cache->items[i]->account.b, account.b, sizeof account.b) != 0))
		i++;
	if (i < cache->count) {
		found = cache->items[i];
		cache->count--;
		memmove(&cache->items[i], &cache->items[i + 1], (cache->count - i) * sizeof *cache->items);
	}
	pthread_mutex_unlock(&cache->mutex);
	return found;
}

struct list_cache_item *list_cache_take(struct list_cache *cache, const struct list_cache_kind *kind,
                                        enum table table, struct account_id account, uint64_t moment)
{
	struct list_cache_item *item = find(cache, table, account);
	if (item && item->moment <= moment) return item;
	if (item) list_cache_give(cache, item); /* useful to others, whose views are newer */
	if (!(item = calloc(1, kind->size))) return NULL;
	*item = (struct list_cache_item){.kind = kind, .account = account, .table = table};
	return item;
}

void list_cache_give(struct list_cache *cache, struct list_cache_item *item)
{
	struct list_cache_item *out[LIST_CACHE_MAX + 1];
	unsigned                out_count = 0;
	size_t                  bytes = 0;
	if (!cache || item->bytes > KEPT_BYTES_MAX) {
		list_cache_drop(item); /* it would displace all others, and then be dropped too */
		return;
	}
	pthread_mutex_lock(&cache->mutex);
	memmove(&cache->items[1], &cache->items[0], cache->count * sizeof *cache->items);
	cache->items[0] = item;
	cache->count++;
	for (unsigned i = 0; i < cache->count; i++)
		bytes += cache->items[i]->bytes;
	while (cache->count > LIST_CACHE_MAX || bytes > KEPT_BYTES_MAX) {
		out[out_count] = cache->items[--cache->count];
		bytes -= out[out_count++]->bytes;
	}
	pthread_mutex_unlock(&cache->mutex);
	while (out_count)
		list_cache_drop(out[--out_count]);
}
