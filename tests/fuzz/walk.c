/* store/walk.h and store/audit.h over damaged tables: bytes of a small data.mdb are changed, and it is
 * walked. A badly damaged page may raise a signal during the walk, which counts as a report, as in the
 * service. Nothing may hang. If the walk reports nothing, every row and the audit are read afterwards without
 * a signal. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/support.h"

#include "store/audit.h"
#include "store/db_inside.h"
#include "store/keys.h"
#include "store/walk.h"

#include <fcntl.h>
#include <lmdb.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 70, CHANGES_MAX = 12, PAGE = 4096 };

static struct scratch s;
static uint8_t       *sound, *changed, *written;
static size_t         size_of_file;

/* A signal jumps out of the interrupted code and leaks a few bytes each time. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:intercept_memcmp=0"; /* LMDB compares whatever a page points to */
}

/* Signals ------------------------------------------------------------------------------------------------- */

static const int        pass_ids[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
static struct sigaction kept[sizeof pass_ids / sizeof *pass_ids];
static sigjmp_buf       astray;

static void on_signal(int number)
{
	siglongjmp(astray, number);
}

static void watch(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
	for (unsigned i = 0; i < sizeof pass_ids / sizeof *pass_ids; i++)
		must(!sigaction(pass_ids[i], &action, &kept[i]));
}

static void unwatch(void)
{
	for (unsigned i = 0; i < sizeof pass_ids / sizeof *pass_ids; i++)
		(void)!sigaction(pass_ids[i], &kept[i], NULL);
}

/* The linker redirects must() here: its failure is our bug, not a fault of the pages. */
_Noreturn void __real_must_failed(const char *what, const char *file, int line);
_Noreturn void __wrap_must_failed(const char *what, const char *file, int line);
_Noreturn void __wrap_must_failed(const char *what, const char *file, int line)
{
	unwatch();
	__real_must_failed(what, file, line);
}

static MDB_env *opened; /* and not closed */

/* LMDB's own assertions print to stderr before they abort; this one does not. */
static void on_assertion(MDB_env *env, const char *what)
{
	(void)env, (void)what;
	siglongjmp(astray, SIGABRT);
}

/* The address range of the mapped file, from the kernel's lines of `begin-end … path`. */
static uintptr_t map_begin, map_end;

static void find_map(void)
{
	static char text[1 << 18];
	size_t      have = 0;
	ssize_t     n;
	int         fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, text + have, sizeof text - 1 - have)) > 0)
		have += (size_t)n;
	close(fd);
	text[have] = 0;
	char *line = strstr(text, "data.mdb"), *next;
	map_begin = map_end = 0;
	if (!line) return;
	while (line > text && line[-1] != '\n')
		line--;
	map_begin = strtoull(line, &next, 16);
	map_end = strtoull(next + 1, NULL, 16);
}

static bool is_mapped(const void *at, size_t size)
{
	uintptr_t begin = (uintptr_t)at;
	return begin >= map_begin && begin <= map_end && size <= map_end - begin;
}

/* A damaged page may point anywhere. In a process without a sanitizer's heap nothing is mapped beside the
 * file, so such a read raises the signal; here it must too. */
enum err __real_row_checked(enum table table, struct span key, MDB_val stored, struct span *value);
enum err __wrap_row_checked(enum table table, struct span key, MDB_val stored, struct span *value);
enum err __wrap_row_checked(enum table table, struct span key, MDB_val stored, struct span *value)
{
	if (!is_mapped(key.at, key.size) || !is_mapped(stored.mv_data, stored.mv_size)) raise(SIGSEGV);
	return __real_row_checked(table, key, stored, value);
}

int __real_mdb_env_open(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode);
int __wrap_mdb_env_open(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode);
int __wrap_mdb_env_open(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode)
{
	opened = env;
	int rc = __real_mdb_env_open(env, path, flags, mode);
	if (!rc && flags & MDB_RDONLY) rc = mdb_env_set_assert(env, on_assertion);
	if (!rc && flags & MDB_RDONLY) find_map();
	return rc;
}

void __real_mdb_env_close(MDB_env *env);
void __wrap_mdb_env_close(MDB_env *env);
void __wrap_mdb_env_close(MDB_env *env)
{
	opened = NULL;
	__real_mdb_env_close(env);
}

/* Tables -------------------------------------------------------------------------------------------------- */

static void put(enum table table, struct row_key key, size_t size)
{
	must(!write_put(&s.staged, table, key_span(&key), filler(key.size + size, size)));
	scratch_save(&s);
}

/* Written, deleted and rewritten: pages of every kind, also free ones, and a table of two levels. */
static void furnish(void)
{
	struct account_id account = {{1}};
	scratch_open(&s);
	for (unsigned i = 0; i < ROWS; i++) {
		put(TABLE_LEDGER, key_u64(account, i + 1), 24);
		put(TABLE_BODY, key_u32(account, i), 100 + i * 37 % 900);
		if (i % 30 == 29) scratch_commit(&s);
	}
	for (unsigned i = 0; i < ROWS; i += 3) {
		struct row_key key = key_u32(account, i);
		must(!write_del(&s.staged, TABLE_BODY, key_span(&key)));
		scratch_save(&s);
		put(TABLE_HOT, key_u32(account, i), 1200);
		if (i % 9 == 0) scratch_commit(&s);
	}
	put(TABLE_BODY, key_u32(account, 500), 9000);
	scratch_commit(&s);
	size_of_file = file_read(&s.test_dir, "data.mdb", &sound);
	must((changed = malloc(size_of_file)) && (written = malloc(size_of_file)));
	memcpy(written, sound, size_of_file);
	db_close(&s.db);
}

/* The page header, which LMDB reads first. */
enum { HEAD_FLAGS = 10, HEAD_LOWER = 12, FIXED_KEYS = 0x20, HEAD_BYTES = 16 };

/* LMDB hangs on a page that declares fixed-size keys, which no table has, and a negative number of them. */
static void spare_lmdb(uint8_t *page)
{
	if (get_le16(page + HEAD_FLAGS) & FIXED_KEYS && get_le16(page + HEAD_LOWER) < HEAD_BYTES)
		put_le16(page + HEAD_LOWER, HEAD_BYTES);
}

/* One, two or eight bytes, mostly in the structure of a page. */
static void change(struct supply *supply)
{
	memcpy(changed, sound, size_of_file);
	for (unsigned i = 0; i < CHANGES_MAX && supply->left.size; i++) {
		uint8_t  how = supply_byte(supply);
		uint8_t *page = changed + supply_byte(supply) % (size_of_file / PAGE) * PAGE;
		size_t   at = how & 1 ? supply_number(supply, 2) % PAGE : supply_byte(supply) % 64;
		size_t   width = how & 2 ? 1 : how & 4 ? 2 : 8;
		if (at + width > PAGE) continue;
		uint8_t bytes[8];
		put_le64(bytes, supply_number(supply, (unsigned)width));
		memcpy(page + at, bytes, width);
		spare_lmdb(page);
	}
}

/* Only bytes that differ from the file. */
static void write_changed(void)
{
	for (size_t at = 0; at < size_of_file; at += PAGE) {
		if (!memcmp(written + at, changed + at, PAGE)) continue;
		file_write(&s.test_dir, "data.mdb", at, span_of(changed + at, PAGE));
		memcpy(written + at, changed + at, PAGE);
	}
}

/* Reading ------------------------------------------------------------------------------------------------- */

static struct db    *still;
static struct view  *view;
static struct arena  arena;
static struct faults faults;
static volatile bool passed;

static enum err volatile told;

/* True if the walk reports nothing. */
static bool walk(void)
{
	faults = (struct faults){.count = 0};
	if ((told = db_open_still(s.test_dir.fd, &still))) return false;
	if ((told = db_reader_open(still, &arena, &view)) || (told = db_reader_begin(view))) return false;
	told = walk_tables(view, &faults, NULL);
	return !told && !faults.count;
}

static void read_all(void)
{
	struct raw_row row;
	struct audit   audit;
	for (unsigned table = 1; table < TABLE_END; table++) {
		enum err err = view_raw_from(view, (enum table)table, span_of(NULL, 0), &row);
		for (; !err; err = view_raw_next(view, (enum table)table, &row))
			must(raw_row_holds((enum table)table, &row));
		must(err == ERR_NOT_FOUND);
	}
	enum err err = audit_tables(view, &audit, &faults, NULL);
	must(err == OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct supply supply = {span_of(bytes, size)};
	if (!sound) furnish();
	change(&supply);
	write_changed();
	passed = false;
	told = OK;
	watch();
	if (!sigsetjmp(astray, 1)) passed = walk();
	unwatch();
	must(told == OK || told == ERR_IO || told == ERR_DAMAGED || told == ERR_NO_MEMORY);
	if (passed) read_all();
	if (view) db_reader_end(view);
	db_reader_close(&view);
	if (!still && opened) mdb_env_close(opened); /* a signal ended its opening */
	db_close(&still);
	arena_reset(&arena);
	return 0;
}
