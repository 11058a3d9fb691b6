/* A table without chains: an id has one place, and the last one that was put there has it. What is kept is compared
 * whole, so that another id of the same place is never taken for it. */
#include "actors/shard/pass/numbers.h"

#include "schemas/bytes.h"
#include "schemas/crc32c.h"
#include "schemas/limits.h"

#include <string.h>
#include <sys/mman.h>

enum { NUMBER_BYTES = 4 }; /* at the end of a key */
static const size_t TABLE_BYTES = (size_t)PASS_NUMBERS_MAX * sizeof(struct pass_number);

enum err numbers_open(struct pass_numbers *numbers)
{
	/* Zeros that are no memory before they are written to. */
	void *places = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (places == MAP_FAILED) return ERR_NO_MEMORY;
	numbers->places = places;
	return OK;
}

void numbers_close(struct pass_numbers *numbers)
{
	if (numbers->places) munmap(numbers->places, TABLE_BYTES);
	numbers->places = NULL;
}

/* Where the pass of this id is kept, or would be; NULL when it is too long for that. */
static struct pass_number *place_of(const struct pass_numbers *numbers, struct span key, size_t *size)
{
	*size = key.size - NUMBER_BYTES;
	if (!numbers->places || *size > sizeof numbers->places->key) return NULL;
	return &numbers->places[crc32c(0, key.at, *size) % PASS_NUMBERS_MAX];
}

static bool is_kept(const struct pass_number *place, const uint8_t *key, size_t size)
{
	return place && place->size == size && memcmp(place->key, key, size) == 0;
}

bool numbers_get(const struct pass_numbers *numbers, const struct row_key *key, uint32_t *number)
{
	size_t                    size;
	const struct pass_number *place = place_of(numbers, key_span(key), &size);
	if (!is_kept(place, key->bytes, size)) return false;
	*number = place->number;
	return true;
}

void numbers_put(struct pass_numbers *numbers, const struct row_key *key, uint32_t number)
{
	size_t              size;
	struct pass_number *place = place_of(numbers, key_span(key), &size);
	if (!place) return;
	place->number = number;
	place->size = (uint8_t)size;
	memcpy(place->key, key->bytes, size);
}

void numbers_saw(struct pass_numbers *numbers, const struct writes *writes)
{
	for (unsigned i = 0; i < writes->count; i++) {
		const struct write *write = &writes->rows[i];
		size_t              size;
		if (write->table != TABLE_PASS_ID) continue;
		struct pass_number *place = place_of(numbers, write->key, &size);
		if (is_kept(place, write->key.at, size)) place->size = 0;
	}
}
