#pragma once
#include "schemas/span.h"
#include "store/db.h"
#include "store/store.h"

/* What the tests of the store share: a directory of the test's own, chance that can be repeated, damage, and
 * a store's steps one at a time. Everything here aborts when it cannot do its work. */

/* A new directory below STAMPEDE_TEST_DIR, or below the current one: a real disk, never /tmp. */
struct test_dir {
	char path[512];
	int  fd;
};
void test_dir_make(struct test_dir *test_dir);
void test_dir_remove(struct test_dir *test_dir);
/* Makes `to`, as if the process had died and the host lived on: its tables are to be believed. */
void test_dir_copy(const struct test_dir *from, struct test_dir *to);
bool test_dir_same(const struct test_dir *a, const struct test_dir *b);

/* One file of a place: `name` may lead through subdirectories. */
size_t file_read(const struct test_dir *test_dir, const char *name,
                 uint8_t **bytes); /* the caller frees them */
void   file_write(const struct test_dir *test_dir, const char *name, size_t offset, struct span bytes);
void   file_flip(const struct test_dir *test_dir, const char *name, size_t offset, uint8_t bits);

/* Chance: STAMPEDE_SEED, or the clock; printed, so that a failure can be repeated. */
uint64_t chance_begin(void);
uint64_t chance(uint64_t *state);
unsigned chance_below(uint64_t *state, unsigned bound);

/* Runs `work` in a process of its own that dies with this one. Returns its exit status, or minus its signal.
 */
int in_child(int (*work)(void *user), void *user);

/* Bytes that are the same for the same `tag`, in memory that lives until the next 8 calls. */
struct span filler(uint64_t tag, size_t size);

/* A writer's view of a database of its own, with no journal: for what is built on views. `staged` is laid
 * over; scratch_save() applies it, scratch_commit() commits too and begins anew. */
struct scratch {
	struct test_dir test_dir;
	struct db      *db;
	struct view    *view;
	struct arena    arena;
	struct writes   staged;
};
void scratch_open(struct scratch *scratch);
void scratch_save(struct scratch *scratch);
void scratch_commit(struct scratch *scratch);
void scratch_reopen(struct scratch *scratch); /* what was not committed is gone */
void scratch_close(struct scratch *scratch);

/* A store of small segments; opened, or the error. */
enum { SEGMENT_BYTES = 256 << 10, MAP_BYTES = 256 << 20 };
struct shard_dir shop_place(const struct test_dir *test_dir, bool may_format);
enum err         shop_open(const struct test_dir *test_dir, bool may_format, struct store **store,
                           struct store_report *report);

/* One write as one command; submit when the journal is free; wait until all submitted is durable. */
void shop_put(struct store *store, enum table table, struct span key, struct span value);
void shop_submit(struct store *store, wall_us now);
void shop_settle(struct store *store);
/* All of it: a record of its own, durable. */
void shop_save(struct store *store, enum table table, struct span key, struct span value);
/* The value as the writer sees it, until the next call; an error as it is. */
enum err shop_get(struct store *store, enum table table, struct span key, struct span *value);
