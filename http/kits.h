#pragma once
#include "schemas/err.h"
#include "schemas/wallet/package.h"

#include <stdatomic.h>

/* Kits of packages (schemas/wallet/package.h) that the process keeps, by their name: KITS_BYTES_MAX of them, the least used go. A
 * kit lives on while an answer is sent from it. All threads share them. */
struct kits;

struct kit {
	atomic_uint        refs;
	struct package_kit is; /* its name and sizes */
	struct kit        *next, *newer, *older;
	uint8_t            bytes[]; /* its local part, then its central part */
};

/* Errors: ERR_NO_MEMORY. */
must_check enum err kits_open(struct kits **kits);
void                kits_free(struct kits **kits); /* NULL: nothing */

/* With a reference for the caller; NULL: it is not here. */
struct kit *kits_find(struct kits *kits, const uint8_t hash[SHA256_BYTES]);

/* A kit to be filled, with a reference for the caller; NULL: out of memory. It is put among the others when its bytes are there. */
struct kit *kit_new(const struct package_kit *is);
void        kits_add(struct kits *kits, struct kit *kit);
void        kit_leave(struct kit **kit); /* drops a reference; NULL: nothing */

/* Bytes of those that are kept. */
uint64_t kits_bytes(struct kits *kits);
