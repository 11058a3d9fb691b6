/* A store that is killed again and again, compared with a plain model of its rows.
 *
 * Each life is a child process. It opens the store, compares every row with the model, then decides random
 * commands, batches them into records, decides while syncs run as the shard does, and commits now and then.
 * It ends at a random step, or is killed at a random instant, also during recovery. It reports over a pipe
 * what it saw and what has become durable. A life's commands follow from its seed alone, so the parent, which
 * knows how many of its records survived, updates the model by deciding the same commands again.
 *
 * After a death the parent may tear records that were never reported durable, as a power failure could. At
 * every opening: reported durable <= present <= submitted, and every row is exactly as it was then.
 * STAMPEDE_CRASHES sets the number of deaths; STAMPEDE_SEED repeats a run. */
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "store/record.h"
#include "store/segment.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEYS = 24, VALUE_MAX = 9000, HOT_BYTES = 200, TABLES = 3, CRASHES_DEFAULT = 220, ROUNDS = 4 };
static const enum table tables[TABLES] = {TABLE_STATUS, TABLE_BODY, TABLE_OPEN};

/* The model: rows as bytes, by table and key. */
static struct row {
	bool    there;
	size_t  size;
	uint8_t bytes[VALUE_MAX];
} rows[TABLES][KEYS];

static struct test_dir test_dir;
static uint64_t        round_seed;

/* The reports of a child. */
struct news {
	enum { NEWS_OPENED = 1, NEWS_DURABLE, NEWS_REFUSED, NEWS_WRONG } kind;
	int      err;
	bool     cut;
	uint64_t seq, epoch; /* OPENED: of its epoch record; DURABLE: the newest */
	char     what[100];
};

static struct span key_of(unsigned key)
{
	static uint8_t bytes[6] = "row";
	put_be16(bytes + 4, (uint16_t)key);
	return span_of(bytes, sizeof bytes);
}

/* One command: up to four writes, decided by random numbers and the existing rows. */
static void decide(uint64_t *state, struct writes *writes)
{
	for (unsigned left = 1 + chance_below(state, 4); left; left--) {
		unsigned t = chance_below(state, TABLES), k = chance_below(state, KEYS),
		         what = chance_below(state, 8);
		size_t   size = t == 1 ? chance_below(state, VALUE_MAX) : HOT_BYTES;
		uint64_t tag = chance(state);
		uint16_t offset = (uint16_t)chance_below(state, HOT_BYTES - 8);
		if (writes_find(writes, tables[t], key_of(k))) continue;
		if (what == 0)
			must(!write_del(writes, tables[t], key_of(k)));
		else if (what < 5 && t == 0 && rows[t][k].there)
			must(!write_patch(writes, tables[t], key_of(k), offset, filler(tag, 8)));
		else
			must(!write_put(writes, tables[t], key_of(k), filler(tag, size)));
	}
}

static void model_apply(const struct writes *writes)
{
	for (unsigned i = 0; i < writes->count; i++) {
		const struct write *write = &writes->rows[i];
		unsigned            t = write->table == TABLE_STATUS ? 0 : write->table == TABLE_BODY ? 1 : 2;
		struct row         *row = &rows[t][get_be16(write->key.at + 4)];
		if (write->kind == WRITE_PUT) {
			memcpy(row->bytes, write->value.at, write->value.size);
			row->size = write->value.size;
		}
		for (unsigned p = 0; p < write->patch_count; p++)
			memcpy(row->bytes + write->patches[p].offset, write->patches[p].bytes,
			       write->patches[p].size);
		row->there = write->kind != WRITE_DEL;
	}
}

/* One command of one record of one life; the same in child and parent. A record has one to three. */
static void command(uint64_t *state, struct arena *arena, struct writes *writes)
{
	arena_reset(arena);
	*writes = writes_none(arena);
	decide(state, writes);
	model_apply(writes);
}

static unsigned commands_in(uint64_t *state)
{
	return 1 + chance_below(state, 3);
}

static uint64_t life_seed(unsigned life)
{
	uint64_t state = round_seed + life;
	return chance(&state);
}

/* The child ----------------------------------------------------------------------------------------------- */

struct life {
	int           pipe;
	struct store *store;
	struct arena  arena;
	uint64_t      chance, fate; /* of its actions, and of its end */
	uint64_t      told;         /* the durable seq reported last */
};

static void tell(struct life *life, struct news news)
{
	must(write(life->pipe, &news, sizeof news) == sizeof news);
}

/* Ends here at random. */
static void step(struct life *life)
{
	if (chance_below(&life->fate, 150) == 0) _exit(0);
}

static void expect_rows(struct life *life)
{
	for (unsigned t = 0; t < TABLES; t++)
		for (unsigned k = 0; k < KEYS; k++) {
			struct row *row = &rows[t][k];
			struct span got;
			struct news wrong = {.kind = NEWS_WRONG};
			enum err    err = shop_get(life->store, tables[t], key_of(k), &got);
			bool right = row->there ? !err && span_equal(got, span_of(row->bytes, row->size))
			                        : err == ERR_NOT_FOUND;
			snprintf(wrong.what, sizeof wrong.what, "table %u key %u: code %d", t, k, err);
			if (!right) tell(life, wrong);
			if (!right) _exit(1);
		}
}

/* Reports before anything else can follow from it. */
static void settle(struct life *life)
{
	must(!store_settle(life->store));
	uint64_t durable = store_durable_seq(life->store);
	if (durable == life->told) return;
	life->told = durable;
	tell(life, (struct news){.kind = NEWS_DURABLE, .seq = durable});
}

static void wait_durable(struct life *life)
{
	while (store_is_syncing(life->store)) {
		shop_settle(life->store);
		settle(life);
	}
	if (store_open_bytes(life->store) == 0 && chance_below(&life->fate, 3) == 0)
		must(!store_commit(life->store));
}

static void live(struct life *life)
{
	struct writes writes;
	for (;;) {
		for (unsigned left = commands_in(&life->chance); left; left--) {
			command(&life->chance, &life->arena, &writes);
			must(!store_apply(life->store, &writes));
			step(life);
			settle(life);
		}
		if (store_open_bytes(life->store) == 0) must(false); /* every command writes */
		while (!store_can_submit(life->store)) {
			settle(life);
			usleep(50);
		}
		settle(life);
		step(life);
		store_submit(life->store, (wall_us){1});
		step(life);
		if (chance_below(&life->fate, 2)) wait_durable(life);
		step(life);
	}
}

/* Updates the model with the surviving records of an earlier life. */
static void catch_up(unsigned life, uint64_t records)
{
	struct arena  arena = {0};
	struct writes writes;
	uint64_t      state = life_seed(life);
	for (; records; records--)
		for (unsigned left = commands_in(&state); left; left--)
			command(&state, &arena, &writes);
	arena_free(&arena);
}

struct history {
	unsigned life;           /* the last one that opened */
	uint64_t first, durable; /* its epoch record's seq; its reports */
	uint64_t epoch;
};

/* The number of the last life's surviving records. Lives that died while they opened may have left epochs
 * after them. */
static uint64_t survivors(const struct history *before, uint64_t seq, uint64_t epoch)
{
	return seq - before->first - (epoch - before->epoch);
}

static void child_main(const struct history *before, unsigned life_number, int pipe)
{
	struct store_report report;
	struct life         life = {
	            .pipe = pipe, .chance = life_seed(life_number), .fate = life_seed(life_number) + 1};
	enum err    err = shop_open(&test_dir, true, &life.store, &report);
	struct news news = {.kind = err ? NEWS_REFUSED : NEWS_OPENED, .err = err, .cut = report.cut_tail};
	snprintf(news.what, sizeof news.what, "%.99s", report.what);
	news.seq = life.told = report.seq;
	news.epoch = report.epoch;
	tell(&life, news);
	if (err) _exit(1);
	catch_up(before->life, survivors(before, report.seq, report.epoch));
	expect_rows(&life);
	live(&life);
}

/* The parent ---------------------------------------------------------------------------------------------- */

static void tear_record(uint64_t *state, const char *name, size_t at, size_t size)
{
	static const uint8_t zeros[512];
	for (size_t end = at + size; at < end; at += sizeof zeros)
		if (chance_below(state, 3) == 0)
			file_write(&test_dir, name, at, span_of(zeros, sizeof zeros));
}

/* A power failure: records not reported durable may have reached the disk in part. */
static void tear(uint64_t *state, uint64_t durable)
{
	for (unsigned segment = 1;; segment++) {
		char          name[SEGMENT_NAME], path[64];
		struct record record;
		uint8_t      *bytes;
		segment_name(segment, name);
		snprintf(path, sizeof path, "journal/%s", name);
		if (faccessat(test_dir.fd, path, F_OK, 0)) return;
		size_t size = file_read(&test_dir, path, &bytes);
		for (size_t at = RECORD_ALIGN; at < size; at += RECORD_ALIGN) {
			bool whole = !record_open(span_of(bytes + at, size - at), &record);
			if (whole && record.seq > durable)
				tear_record(state, path, at, RECORD_HEAD + record.writes.size);
		}
		free(bytes);
	}
}

/* Reads the reports of a life, and updates the history and the model. */
static bool hear(int pipe, struct history *history, unsigned life)
{
	struct news news;
	bool        opened = false;
	while (read(pipe, &news, sizeof news) == sizeof news) {
		cr_assert_neq(news.kind, NEWS_REFUSED, "life %u: code %d %s", life, news.err, news.what);
		cr_assert_neq(news.kind, NEWS_WRONG, "life %u: %s", life, news.what);
		if (news.kind == NEWS_DURABLE) history->durable = news.seq;
		if (news.kind != NEWS_OPENED) continue;
		cr_assert_gt(news.epoch, history->epoch);
		uint64_t records = survivors(history, news.seq, news.epoch),
		         known = history->durable - history->first;
		cr_assert_geq(records, known, "life %u: acknowledged records are gone", life);
		cr_assert_leq(records, known + 1, "life %u: more records than were submitted", life);
		catch_up(history->life, records);
		*history = (struct history){life, news.seq, news.seq, news.epoch};
		opened = true;
	}
	return opened;
}

static bool one_life(struct history *history, unsigned life, uint64_t *state)
{
	int ends[2], status;
	cr_assert_eq(pipe(ends), 0);
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) _exit(127);
		child_main(history, life, ends[1]);
	}
	close(ends[1]);
	if (chance_below(state, 2)) {
		usleep(chance_below(state, 12000));
		kill(pid, SIGKILL);
	}
	bool opened = hear(ends[0], history, life);
	close(ends[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	bool as_meant = WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL;
	cr_assert(as_meant, "life %u ended with %x", life, (unsigned)status);
	if (opened && chance_below(state, 2)) tear(state, history->durable);
	return opened;
}

Test(store_crash, keeps_exactly_the_acknowledged_records_through_random_deaths)
{
	const char *wanted = getenv("STAMPEDE_CRASHES");
	unsigned    crashes = wanted ? (unsigned)strtoul(wanted, NULL, 10) : CRASHES_DEFAULT, opened = 0;
	uint64_t    state = chance_begin(), records = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct history history = {.life = 0};
		memset(rows, 0, sizeof rows);
		round_seed = chance(&state);
		test_dir_make(&test_dir);
		for (unsigned life = 1; life <= crashes / ROUNDS; life++)
			opened += one_life(&history, life, &state);
		records += history.durable;
		test_dir_remove(&test_dir);
	}
	fprintf(stderr, "%u deaths, %u of them after opening, %llu records\n", crashes, opened,
	        (unsigned long long)records);
	cr_expect_gt(opened, crashes / 3);
}
