/* A table without chains: an id has two places side by side, and when both are taken another id has to go. What is kept
 * is compared whole, so that another id of the same place is never taken for it. */
#include "actors/shard/pass/id_cache.h"

#include "schemas/bytes.h"
#include "schemas/crc32c.h"
#include "schemas/limits.h"

#include <string.h>
#include <sys/mman.h>

enum {
	NUMBER_BYTES = 4, /* at the end of a key */
	FULL_SHARE = 4,   /* with one place of so many taken it is full: ids meet too often */
	GROWTH = 4,
};
static const size_t TABLE_BYTES = (size_t)PASS_NUMBERS_MAX * sizeof(struct pass_number);

enum err pass_id_cache_open(struct pass_id_cache *pass_ids)
{
	/* Zeros that are no memory before they are written to; then they are to be large pages, if there are any. */
	void *places = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (places == MAP_FAILED) return ERR_NO_MEMORY;
	madvise(places, TABLE_BYTES, MADV_HUGEPAGE);
	*pass_ids = (struct pass_id_cache){.places = places, .count = PASS_NUMBERS_MIN};
	return OK;
}

static bool is_full(const struct pass_id_cache *pass_ids)
{
	return pass_ids->count < PASS_NUMBERS_MAX && pass_ids->taken >= pass_ids->count / FULL_SHARE;
}

/* Everything is forgotten, and learnt again: an id has another place now. */
static void grow(struct pass_id_cache *pass_ids)
{
	if (madvise(pass_ids->places, pass_ids->count * sizeof *pass_ids->places, MADV_DONTNEED)) return;
	pass_ids->count *= GROWTH;
	pass_ids->taken = 0;
}

void pass_id_cache_close(struct pass_id_cache *pass_ids)
{
	if (pass_ids->places) munmap(pass_ids->places, TABLE_BYTES);
	pass_ids->places = NULL;
}

static size_t id_size(struct span key)
{
	return key.size - NUMBER_BYTES;
}

/* The first of its two places; NULL when it is too long to be kept. */
static struct pass_number *home_of(const struct pass_id_cache *pass_ids, struct span key)
{
	if (!pass_ids->places || id_size(key) > sizeof pass_ids->places->key) return NULL;
	return &pass_ids->places[crc32c(0, key.at, id_size(key)) & (pass_ids->count - 1)];
}

/* The second is its neighbour, which the processor mostly fetches with it. */
static struct pass_number *other_of(const struct pass_id_cache *pass_ids, const struct pass_number *home)
{
	return &pass_ids->places[(home - pass_ids->places) ^ 1];
}

static bool is_kept(const struct pass_number *place, struct span key)
{
	return place->size == id_size(key) && memcmp(place->key, key.at, id_size(key)) == 0;
}

/* NULL: it is not kept. */
static struct pass_number *find(const struct pass_id_cache *pass_ids, struct span key)
{
	struct pass_number *home = home_of(pass_ids, key);
	if (!home || is_kept(home, key)) return home;
	struct pass_number *other = other_of(pass_ids, home);
	return is_kept(other, key) ? other : NULL;
}

/* For one that is not kept: a free place, or that of another id. NULL: it is too long. */
static struct pass_number *place_for(const struct pass_id_cache *pass_ids, struct span key)
{
	struct pass_number *home = home_of(pass_ids, key);
	if (!home || home->size == 0) return home;
	struct pass_number *other = other_of(pass_ids, home);
	return other->size == 0 ? other : home;
}

bool pass_id_cache_get(const struct pass_id_cache *pass_ids, const struct row_key *key, uint32_t *number)
{
	const struct pass_number *place = find(pass_ids, key_span(key));
	if (place) *number = place->number;
	return place != NULL;
}

void pass_id_cache_put(struct pass_id_cache *pass_ids, const struct row_key *key, uint32_t number)
{
	struct pass_number *place = find(pass_ids, key_span(key));
	if (!place && is_full(pass_ids)) grow(pass_ids);
	if (!place && !(place = place_for(pass_ids, key_span(key)))) return;
	pass_ids->taken += place->size == 0;
	place->number = number;
	place->size = (uint8_t)id_size(key_span(key));
	memcpy(place->key, key->bytes, place->size);
}

void pass_id_cache_on_writes(struct pass_id_cache *pass_ids, const struct writes *writes)
{
	for (unsigned i = 0; i < writes->count; i++) {
		const struct write *write = &writes->rows[i];
		if (write->table != TABLE_PASS_ID) continue;
		struct pass_number *place = find(pass_ids, write->key);
		if (!place) continue;
		place->size = 0;
		pass_ids->taken--;
	}
}
