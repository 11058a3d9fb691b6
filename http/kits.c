/* The kits of the process: a hash table by name, and a list by last use. The mutex is held for some hundred instructions at most;
 * bytes are read without it. */
#include "http/kits.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 1024 };

struct kits {
	pthread_mutex_t mutex;
	struct kit     *slots[SLOTS], *newest, *oldest;
	size_t          bytes;
};

enum err kits_open(struct kits **kits)
{
	*kits = calloc(1, sizeof **kits);
	if (!*kits) return ERR_NO_MEMORY;
	pthread_mutex_init(&(*kits)->mutex, NULL);
	return OK;
}

static size_t size_of(const struct kit *kit)
{
	return sizeof *kit + kit->is.local_size + kit->is.central_size;
}

struct kit *kit_new(const struct package_kit *is)
{
	struct kit *kit = malloc(sizeof *kit + is->local_size + is->central_size);
	if (!kit) return NULL;
	*kit = (struct kit){.is = *is};
	atomic_init(&kit->refs, 1);
	return kit;
}

void kit_leave(struct kit **kit_p)
{
	struct kit *kit = *kit_p;
	*kit_p = NULL;
	if (kit && atomic_fetch_sub_explicit(&kit->refs, 1, memory_order_acq_rel) == 1) free(kit);
}

static struct kit *share(struct kit *kit)
{
	if (kit) atomic_fetch_add_explicit(&kit->refs, 1, memory_order_relaxed);
	return kit;
}

/* ---- with the mutex held ---- */

static struct kit **slot_of(struct kits *kits, const uint8_t hash[SHA256_BYTES])
{
	return &kits->slots[get_le32(hash) % SLOTS];
}

static struct kit *find(struct kits *kits, const uint8_t hash[SHA256_BYTES])
{
	struct kit *kit = *slot_of(kits, hash);
	while (kit && memcmp(kit->is.hash, hash, SHA256_BYTES))
		kit = kit->next;
	return kit;
}

static void unlink_kit(struct kits *kits, struct kit *kit)
{
	*(kit->newer ? &kit->newer->older : &kits->newest) = kit->older;
	*(kit->older ? &kit->older->newer : &kits->oldest) = kit->newer;
}

static void link_kit(struct kits *kits, struct kit *kit)
{
	kit->newer = NULL;
	kit->older = kits->newest;
	*(kit->older ? &kit->older->newer : &kits->oldest) = kit;
	kits->newest = kit;
}

static void drop(struct kits *kits, struct kit *kit)
{
	struct kit **at = slot_of(kits, kit->is.hash);
	while (*at != kit)
		at = &(*at)->next;
	*at = kit->next;
	unlink_kit(kits, kit);
	kits->bytes -= size_of(kit);
	kit_leave(&kit);
}

/* ---- the rest ---- */

struct kit *kits_find(struct kits *kits, const uint8_t hash[SHA256_BYTES])
{
	pthread_mutex_lock(&kits->mutex);
	struct kit *kit = share(find(kits, hash));
	if (kit) {
		unlink_kit(kits, kit);
		link_kit(kits, kit);
	}
	pthread_mutex_unlock(&kits->mutex);
	return kit;
}

void kits_add(struct kits *kits, struct kit *kit)
{
	pthread_mutex_lock(&kits->mutex);
	if (!find(kits, kit->is.hash)) { /* else another thread was first */
		struct kit **slot = slot_of(kits, kit->is.hash);
		kit->next = *slot;
		*slot = share(kit);
		link_kit(kits, kit);
		kits->bytes += size_of(kit);
	}
	while (kits->bytes > KITS_BYTES_MAX)
		drop(kits, kits->oldest);
	pthread_mutex_unlock(&kits->mutex);
}

uint64_t kits_bytes(struct kits *kits)
{
	pthread_mutex_lock(&kits->mutex);
	uint64_t bytes = kits->bytes;
	pthread_mutex_unlock(&kits->mutex);
	return bytes;
}

void kits_free(struct kits **kits_p)
{
	struct kits *kits = *kits_p;
	*kits_p = NULL;
	if (!kits) return;
	while (kits->oldest)
		drop(kits, kits->oldest);
	pthread_mutex_destroy(&kits->mutex);
	free(kits);
}
