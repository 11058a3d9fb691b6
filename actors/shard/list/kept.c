/* What is kept between lists: a short array, the one used last in front. */
#include "actors/shard/list/kept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct kept {
	pthread_mutex_t   mutex;
	unsigned          count;
	struct kept_item *items[KEPT_MAX + 1]; /* one too many for a moment */
};

enum err kept_new(struct kept **out)
{
	struct kept *kept = calloc(1, sizeof *kept);
	if (!(*out = kept)) return ERR_NO_MEMORY;
	pthread_mutex_init(&kept->mutex, NULL);
	return OK;
}

void kept_drop(struct kept_item *item)
{
	item->kind->drop(item);
}

void kept_free(struct kept **kept_p)
{
	struct kept *kept = *kept_p;
	*kept_p = NULL;
	if (!kept) return;
	while (kept->count)
		kept_drop(kept->items[--kept->count]);
	pthread_mutex_destroy(&kept->mutex);
	free(kept);
}

static struct kept_item *find(struct kept *kept, enum table table, struct account_id account)
{
	struct kept_item *found = NULL;
	unsigned          i = 0;
	if (!kept) return NULL;
	pthread_mutex_lock(&kept->mutex);
	while (i < kept->count && (kept->items[i]->table != table ||
	                           memcmp(kept->items[i]->account.b, account.b, sizeof account.b) != 0))
		i++;
	if (i < kept->count) {
		found = kept->items[i];
		kept->count--;
		memmove(&kept->items[i], &kept->items[i + 1], (kept->count - i) * sizeof *kept->items);
	}
	pthread_mutex_unlock(&kept->mutex);
	return found;
}

struct kept_item *kept_take(struct kept *kept, const struct kept_kind *kind, enum table table,
                            struct account_id account, uint64_t moment)
{
	struct kept_item *item = find(kept, table, account);
	if (item && item->moment <= moment) return item;
	if (item) kept_give(kept, item); /* of use to others, whose views are newer */
	if (!(item = calloc(1, kind->size))) return NULL;
	*item = (struct kept_item){.kind = kind, .account = account, .table = table};
	return item;
}

void kept_give(struct kept *kept, struct kept_item *item)
{
	struct kept_item *out[KEPT_MAX + 1];
	unsigned          out_count = 0;
	size_t            bytes = 0;
	if (!kept || item->bytes > KEPT_BYTES_MAX) {
		kept_drop(item); /* all others would have to go for it, and then it too */
		return;
	}
	pthread_mutex_lock(&kept->mutex);
	memmove(&kept->items[1], &kept->items[0], kept->count * sizeof *kept->items);
	kept->items[0] = item;
	kept->count++;
	for (unsigned i = 0; i < kept->count; i++)
		bytes += kept->items[i]->bytes;
	while (kept->count > KEPT_MAX || bytes > KEPT_BYTES_MAX) {
		out[out_count] = kept->items[--kept->count];
		bytes -= out[out_count++]->bytes;
	}
	pthread_mutex_unlock(&kept->mutex);
	while (out_count)
		kept_drop(out[--out_count]);
}
