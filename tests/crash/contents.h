#pragma once
#include "store/db.h"

/* What is in the tables, as a number: a sum over their rows, so that it can follow a write without reading the rest.
 * The position that the tables keep of themselves is not counted. Errors: none; what it cannot do aborts. */
struct contents;

struct contents *contents_new(void);
void             contents_free(struct contents **contents);
void             contents_clear(struct contents *contents);

/* Follows a record's operations. */
void     contents_apply(struct contents *contents, struct span operations);
uint64_t contents_digest(const struct contents *contents);

/* Calls `row` for every row of real tables, values whole. Errors: as contents_of_view(). */
typedef void (*contents_row)(void *user, enum table table, struct span key, struct span value);
must_check enum err contents_each(struct view *reader, contents_row row, void *user);

/* The digest of real tables. Errors: as view.h; ERR_DAMAGED: also a part that is not in its place. */
must_check enum err contents_of_view(struct view *reader, uint64_t *digest);
