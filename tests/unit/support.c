/* Helpers of the store's tests. They use must() instead of Criterion's assertions, because most of them also
 * run in children, where only an abort is noticed. */
#include "tests/unit/support.h"
#include "tests/unit/patience.h"

#include "store/clean_mark.h"
#include "store/hot_row.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Places -------------------------------------------------------------------------------------------------- */

void test_dir_make(struct test_dir *test_dir)
{
	const char *below = getenv("STAMPEDE_TEST_DIR");
	snprintf(test_dir->path, sizeof test_dir->path, "%s/test-place-XXXXXX", below ? below : ".");
	must(mkdtemp(test_dir->path));
	must((test_dir->fd = open(test_dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

void test_dir_remove(struct test_dir *test_dir)
{
	if (test_dir->fd <= 0) return;
	close(test_dir->fd);
	must(nftw(test_dir->path, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
	*test_dir = (struct test_dir){.fd = -1};
}

size_t file_read(const struct test_dir *test_dir, const char *name, uint8_t **bytes)
{
	struct stat st;
	size_t      have = 0;
	int         fd = openat(test_dir->fd, name, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && fstat(fd, &st) == 0);
	must((*bytes = malloc((size_t)st.st_size + 1)));
	while (have < (size_t)st.st_size) {
		ssize_t n = read(fd, *bytes + have, (size_t)st.st_size - have);
		must(n > 0);
		have += (size_t)n;
	}
	close(fd);
	return have;
}

void file_write(const struct test_dir *test_dir, const char *name, size_t offset, struct span bytes)
{
	int fd = openat(test_dir->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(fd >= 0);
	must(pwrite(fd, bytes.at, bytes.size, (off_t)offset) == (ssize_t)bytes.size);
	close(fd);
}

void file_flip(const struct test_dir *test_dir, const char *name, size_t offset, uint8_t bits)
{
	uint8_t byte;
	int     fd = openat(test_dir->fd, name, O_RDWR | O_CLOEXEC);
	must(fd >= 0 && pread(fd, &byte, 1, (off_t)offset) == 1);
	byte ^= bits;
	must(pwrite(fd, &byte, 1, (off_t)offset) == 1);
	close(fd);
}

/* Calls `visit` for every file of a directory, with its name inside it. LMDB's lock file has no data, the
 * clean-shutdown marker is valid for one file only, and unfinished files may disappear. */
struct visitor {
	const struct test_dir *from, *to;
	unsigned               files;
	bool                   same;
	void (*visit)(struct visitor *visitor, const char *name);
};

static void visit_files(struct visitor *visitor, const char *below)
{
	char           name[512];
	struct dirent *entry;
	int  fd = openat(visitor->from->fd, *below ? below : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fdopendir(fd);
	must(list);
	while ((entry = readdir(list))) {
		struct stat st;
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "lock.mdb")) continue;
		if (!strcmp(entry->d_name, "trust") || strstr(entry->d_name, ".tmp")) continue;
		snprintf(name, sizeof name, "%s%s%s", below, *below ? "/" : "", entry->d_name);
		if (fstatat(visitor->from->fd, name, &st, 0)) continue; /* a temporary file was finished */
		if (S_ISDIR(st.st_mode)) {
			if (visitor->to) (void)mkdirat(visitor->to->fd, name, 0700);
			visit_files(visitor, name);
		} else {
			visitor->files++;
			visitor->visit(visitor, name);
		}
	}
	closedir(list);
}

/* Copied by the kernel: a process with the bytes of many files in memory forks slowly. */
static void copy_file(struct visitor *visitor, const char *name)
{
	struct stat st;
	int         from = openat(visitor->from->fd, name, O_RDONLY | O_CLOEXEC);
	int         to = openat(visitor->to->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(from >= 0 && to >= 0 && fstat(from, &st) == 0);
	for (off_t at = 0; at < st.st_size;)
		must(sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0);
	close(from);
	close(to);
}

void test_dir_copy(const struct test_dir *from, struct test_dir *to)
{
	struct visitor visitor = {.from = from, .to = to, .visit = copy_file};
	struct stat    st;
	test_dir_make(to);
	visit_files(&visitor, "");
	if (!fstatat(to->fd, "db/data.mdb", &st, 0)) must(!clean_mark_write(to->fd, false));
}

static void compare_file(struct visitor *visitor, const char *name)
{
	uint8_t    *a, *b;
	struct stat st;
	if (fstatat(visitor->to->fd, name, &st, 0)) {
		visitor->same = false;
		return;
	}
	size_t a_size = file_read(visitor->from, name, &a), b_size = file_read(visitor->to, name, &b);
	if (!span_equal(span_of(a, a_size), span_of(b, b_size))) visitor->same = false;
	free(a);
	free(b);
}

bool test_dir_same(const struct test_dir *a, const struct test_dir *b)
{
	struct visitor there = {.from = a, .to = b, .same = true, .visit = compare_file};
	struct visitor back = {.from = b, .to = a, .same = true, .visit = compare_file};
	visit_files(&there, "");
	visit_files(&back, "");
	return there.same && back.same && there.files == back.files;
}

/* Chance, bytes, children --------------------------------------------------------------------------------- */

uint64_t chance_begin(void)
{
	const char     *text = getenv("STAMPEDE_SEED");
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t seed = text ? strtoull(text, NULL, 10)
	                     : (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec;
	fprintf(stderr, "STAMPEDE_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

uint64_t chance(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

unsigned chance_below(uint64_t *state, unsigned bound)
{
	return (unsigned)(chance(state) % bound);
}

int in_child(int (*work)(void *user), void *user)
{
	int   status;
	pid_t parent = getpid(), pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) _exit(127);
		_exit(work(user));
	}
	must(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool same_hot(const struct hot *a, const struct hot *b)
{
	return a->status == b->status && a->flags == b->flags && a->template == b->template &&
	       a->scan_count == b->scan_count && a->balance == b->balance && a->created.v == b->created.v &&
	       a->updated.v == b->updated.v && a->last_scan.v == b->last_scan.v &&
	       a->ledger_head == b->ledger_head;
}

struct span filler(uint64_t tag, size_t size)
{
	enum { TURNS = 8 };
	static uint8_t *kept[TURNS];
	static unsigned turn;
	uint64_t        state = tag;
	turn = (turn + 1) % TURNS;
	must((kept[turn] = realloc(kept[turn], size + 8)));
	for (size_t i = 0; i < size; i += 8) {
		uint64_t bits = chance(&state);
		memcpy(kept[turn] + i, &bits, 8);
	}
	return span_of(kept[turn], size);
}

/* A database without a journal ---------------------------------------------------------------------------- */

static void scratch_begin(struct scratch *scratch)
{
	int fd = dup(scratch->test_dir.fd);
	must(fd >= 0);
	must(!db_open(fd, MAP_BYTES, shop_lineage, &scratch->db));
	close(fd);
	must(!db_begin(scratch->db));
	scratch->staged = writes_none(&scratch->arena);
	scratch->view = db_view(scratch->db, &scratch->staged, &scratch->arena);
}

void scratch_open(struct scratch *scratch)
{
	*scratch = (struct scratch){.db = NULL};
	test_dir_make(&scratch->test_dir);
	scratch_begin(scratch);
}

void scratch_save(struct scratch *scratch)
{
	for (unsigned i = 0; i < scratch->staged.count; i++)
		must(!db_apply(scratch->db, &scratch->staged.rows[i], false));
	scratch->staged = writes_none(&scratch->arena);
	arena_reset(&scratch->arena);
}

void scratch_commit(struct scratch *scratch)
{
	struct applied applied = {.seq = 1};
	scratch_save(scratch);
	must(!db_commit(scratch->db, &applied));
	must(!db_begin(scratch->db));
}

void scratch_reopen(struct scratch *scratch)
{
	db_close(&scratch->db);
	scratch_begin(scratch);
}

void scratch_close(struct scratch *scratch)
{
	db_close(&scratch->db);
	arena_free(&scratch->arena);
	test_dir_remove(&scratch->test_dir);
}

/* A store ------------------------------------------------------------------------------------------------- */

static struct arena shop_arena;

const uint8_t shop_lineage[LINEAGE_BYTES] = {9, 8, 7, 6, 5, 4, 3, 2, 1};

struct shard_dir shop_place(const struct test_dir *test_dir, bool may_format)
{
	struct shard_dir place = {.dir_fd = test_dir->fd,
	                          .shard = 7,
	                          .may_format = may_format,
	                          .segment_bytes = SEGMENT_BYTES,
	                          .map_bytes = MAP_BYTES};
	memcpy(place.lineage, shop_lineage, LINEAGE_BYTES);
	return place;
}

enum err shop_open(const struct test_dir *test_dir, bool may_format, struct store **store,
                   struct store_report *report)
{
	struct shard_dir at = shop_place(test_dir, may_format);
	return store_open(&at, (wall_us){1}, store, report);
}

void shop_put(struct store *store, enum table table, struct span key, struct span value)
{
	struct writes writes = {.arena = &shop_arena};
	arena_reset(&shop_arena);
	must(!write_put(&writes, table, key, value));
	must(!store_apply(store, &writes));
}

/* The submitted record may already have become durable, so each wait is preceded by a check. Twenty seconds
 * of waits count as a hang. */
static void look(struct store *store, unsigned *looks)
{
	struct pollfd news = {.fd = store_fd(store), .events = POLLIN};
	if ((*looks)++) (void)poll(&news, 1, 1);
	must(*looks < (unsigned)patience_ms(20000));
	must(!store_settle(store));
}

void shop_submit(struct store *store, wall_us now)
{
	for (unsigned looks = 0; !store_can_submit(store);)
		look(store, &looks);
	store_submit(store, now);
}

void shop_settle(struct store *store)
{
	for (unsigned looks = 0; store_is_syncing(store);)
		look(store, &looks);
}

void shop_save(struct store *store, enum table table, struct span key, struct span value)
{
	shop_put(store, table, key, value);
	shop_submit(store, (wall_us){1});
	shop_settle(store);
}

void shop_save_writes(struct store *store, const struct writes *writes, struct arena *arena)
{
	must(store_apply(store, writes) == OK);
	shop_submit(store, (wall_us){1});
	shop_settle(store);
	arena_reset(arena);
}

enum err shop_get(struct store *store, enum table table, struct span key, struct span *value)
{
	arena_reset(&shop_arena);
	return view_get(store_view(store, NULL, &shop_arena), table, key, value);
}
