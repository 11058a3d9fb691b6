#pragma once
#include "store/db.h"

/* A digest of the tables: a sum over their rows, which can be updated by a write without reading the rest.
 * The position stored in the tables is not included. Errors: none; failures abort. */
struct contents;

struct contents *contents_new(void);
void             contents_free(struct contents **contents);
void             contents_clear(struct contents *contents);

/* Applies a record's operations. */
void     contents_apply(struct contents *contents, struct span operations);
uint64_t contents_digest(const struct contents *contents);

/* Calls `row` for every row of real tables, with complete values. `writer`: the writer's view of the same moment, which alone
 * knows the newest rows of some late tables; NULL: all are in LMDB. Errors: as contents_of_view(). */
typedef void (*contents_row)(void *user, enum table table, struct span key, struct span value);
must_check enum err contents_each(struct view *reader, struct view *writer, contents_row row, void *user);

/* The digest of real tables. Errors: as view.h; ERR_DAMAGED also for a part in a wrong place. */
must_check enum err contents_of_view(struct view *reader, struct view *writer, uint64_t *digest);
