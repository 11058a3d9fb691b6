#pragma once
#include "schemas/span.h"
#include "store/db.h"
#include "store/store.h"

/* Shared by the tests of the store: a directory for each test, reproducible random numbers, damage, and the
 * store's steps one at a time. All functions abort when they fail. */

/* Creates a directory below STAMPEDE_TEST_DIR, or below the current one: on a real disk, never in /tmp. */
struct test_dir {
	char path[512];
	int  fd;
};
void test_dir_make(struct test_dir *test_dir);
void test_dir_remove(struct test_dir *test_dir);
/* Creates `to` as a copy after a crash of the process alone: its tables are trusted. */
void test_dir_copy(const struct test_dir *from, struct test_dir *to);
bool test_dir_same(const struct test_dir *a, const struct test_dir *b);

/* One file of a directory; `name` may contain subdirectories. */
size_t file_read(const struct test_dir *test_dir, const char *name,
                 uint8_t **bytes); /* the caller frees them */
void   file_write(const struct test_dir *test_dir, const char *name, size_t offset, struct span bytes);
void   file_flip(const struct test_dir *test_dir, const char *name, size_t offset, uint8_t bits);

/* Random numbers from STAMPEDE_SEED or the clock. The seed is printed, so that a failure can be repeated. */
uint64_t chance_begin(void);
uint64_t chance(uint64_t *state);
unsigned chance_below(uint64_t *state, unsigned bound);

/* Runs `work` in a process of its own that dies with this one. Returns its exit status, or minus its
 * signal. */
int in_child(int (*work)(void *user), void *user);

struct hot;
bool same_hot(const struct hot *a, const struct hot *b);

/* Bytes that depend only on `tag`, valid until the next 8 calls. */
struct span filler(uint64_t tag, size_t size);

/* A writer's view of a database without a journal, for code that uses views. It shows `staged`;
 * scratch_save() applies it, scratch_commit() also commits and begins a new transaction. */
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
void scratch_reopen(struct scratch *scratch); /* drops uncommitted writes */
void scratch_close(struct scratch *scratch);

/* A Criterion suite with a scratch store `s` for each test, and perhaps a `.timeout`. */
#define SCRATCH_SUITE(name, ...)                  \
	static struct scratch s;                  \
	static void           begin_scratch(void) \
	{                                         \
		scratch_open(&s);                 \
	}                                         \
	static void end_scratch(void)             \
	{                                         \
		scratch_close(&s);                \
	}                                         \
	TestSuite(name, .init = begin_scratch, .fini = end_scratch, ##__VA_ARGS__)

/* Opens a store with small segments; returns the error. */
enum { SEGMENT_BYTES = 256 << 10, MAP_BYTES = 256 << 20 };
extern const uint8_t shop_lineage[LINEAGE_BYTES];
struct shard_dir     shop_place(const struct test_dir *test_dir, bool may_format);
enum err             shop_open(const struct test_dir *test_dir, bool may_format, struct store **store,
                               struct store_report *report);

/* Stages one write as one command; submits when the journal is free; waits until everything submitted is
 * durable. */
void shop_put(struct store *store, enum table table, struct span key, struct span value);
void shop_submit(struct store *store, wall_us now);
void shop_settle(struct store *store);
/* All three: a record of its own, durable. */
void shop_save(struct store *store, enum table table, struct span key, struct span value);
/* Writes of one command as one durable record; resets their arena. */
void shop_save_writes(struct store *store, const struct writes *writes, struct arena *arena);
/* The value as the writer sees it, valid until the next call. Returns errors unchanged. */
enum err shop_get(struct store *store, enum table table, struct span key, struct span *value);
