/* Lists beside changes and slices: the writer moves points between passes, makes passes, commits and writes slices of late
 * tables; readers add up the points of an account, and those of its ledger, and look at its scans. All have to come to what a
 * row of another table says in the same view, however long a reader waits in between. At last the same is read from a store that was opened again,
 * after a stop and as a kill leaves it: then a thread walks through its tables beside the replay.
 * A program of its own, without a test framework, so that it also runs under a thread sanitizer.
 *
 *     late_threads [--blocks N] [--control]
 *
 * --blocks: so many blocks of passes may lie in memory, so that they go and come back all the time
 * --control: the store is broken on purpose; 0 when that was noticed */
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "store/hot.h"
#include "store/keys.h"
#include "store/ledger.h"
#include "store/scan_row.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ACCOUNTS = 3,
	PASSES_FIRST = 300,
	PASSES_MAX = 900,
	COMMANDS = 6000,
	READERS = 2,
	SUMS_LEAST = 60,
	EVICTIONS_LEAST = 100, /* with --blocks */
	ROUND_BYTES = 64 << 10,
	SLICE_ROWS = 4,
	TAILS_BYTES = 256 << 10, /* written rows soon make way to others */
	LEDGER_ADDED_UP_IN = 4,
	SCAN_IN = 3,
	TURN_COMMANDS = 8,
	PAUSE_COMMANDS = 200,
};

static struct test_dir test_dir, killed;
static struct store   *store;
static atomic_bool     done;
static atomic_uint     commands, sums, waits, refusals, slices;
static bool            is_control;
static unsigned        blocks; /* may lie in memory; 0: any number */

static struct account_id account_of(unsigned index)
{
	return (struct account_id){{'l', (uint8_t)index}};
}

static void wrong(const char *what, int64_t is, int64_t wanted)
{
	printf("%s: %lld, must be %lld\n", what, (long long)is, (long long)wanted);
	exit(is_control ? 0 : 1);
}

static void good(const char *what, enum err err)
{
	if (err) wrong(what, err, OK);
}

/* What an account has: how many passes, their points, its newest ledger row, how many scans. A row of a table that is not
 * late. */
struct total {
	uint32_t made;
	int64_t  points;
	uint64_t last;
	uint32_t scans;
};

static enum err total_get(struct view *view, struct account_id account, struct total *total)
{
	struct row_key key = key_account(account);
	struct span    value;
	enum err       err = view_get(view, TABLE_REWARD_TALLY, key_span(&key), &value);
	if (!err)
		*total = (struct total){get_le32(value.at), (int64_t)get_le64(value.at + 4),
		                        get_le64(value.at + 12), get_le32(value.at + 20)};
	return err;
}

static void total_put(struct writes *writes, struct account_id account, const struct total *total)
{
	struct row_key key = key_account(account);
	uint8_t        bytes[24];
	put_le32(bytes, total->made);
	put_le64(bytes + 4, (uint64_t)total->points);
	put_le64(bytes + 12, total->last);
	put_le32(bytes + 20, total->scans);
	must(!write_put(writes, TABLE_REWARD_TALLY, key_span(&key), span_of(bytes, sizeof bytes)));
}

/* Reading ------------------------------------------------------------------------------------------------- */

/* Until the writer has decided more. */
static void pause_reading(void)
{
	unsigned until = atomic_load(&commands) + PAUSE_COMMANDS;
	while (!atomic_load(&done) && (int)(atomic_load(&commands) - until) < 0)
		sched_yield();
	atomic_fetch_add(&waits, 1);
}

static enum err add_row(struct view *view, struct account_id account, uint32_t row, int64_t *points)
{
	int64_t            updated[HOT_PASSES], balance[HOT_PASSES];
	uint16_t           templates[HOT_PASSES];
	struct hot_columns columns = {.updated = updated, .balance = balance, .template = templates};
	unsigned           used;
	enum err           err = hot_columns(view, account, row, &columns, &used);
	for (unsigned i = 0; !err && i < used; i++)
		*points += balance[i];
	return err;
}

static enum err add_passes(struct view *view, struct account_id account, uint32_t first, uint32_t end,
                           int64_t *points)
{
	struct hot_at pass;
	enum err      err = OK;
	for (uint32_t i = first; !err && i < end; i++)
		if (!(err = hot_get(view, account, i, &pass))) *points += pass.now.balance;
	return err;
}

/* Row by row or pass by pass. */
static enum err add_up(struct view *view, struct account_id account, const struct total *total,
                       uint64_t *luck, int64_t *points)
{
	uint32_t pause_at = blocks && chance_below(luck, 8) ? total->made : chance_below(luck, total->made);
	struct hot_at none;
	enum err      err = OK;
	for (uint32_t first = 0; !err && first < total->made; first += HOT_PASSES) {
		uint32_t end = first + HOT_PASSES < total->made ? first + HOT_PASSES : total->made;
		if (first <= pause_at && pause_at < end) pause_reading();
		err = chance_below(luck, 2) ? add_row(view, account, first / HOT_PASSES, points)
		                            : add_passes(view, account, first, end, points);
	}
	if (!err && hot_get(view, account, total->made, &none) != ERR_NOT_FOUND)
		wrong("a pass that is made later", total->made, -1);
	return err;
}

/* The history of one pass, as its newest row leads to it. */
static enum err add_history(struct view *view, struct account_id account, uint32_t number)
{
	struct hot_at     pass;
	struct ledger_row row = {.number = number};
	int64_t           points = 0;
	enum err          err = hot_get(view, account, number, &pass);
	for (uint64_t seq = err ? 0 : pass.now.ledger_head; !err && seq; seq = row.previous) {
		err = ledger_get(view, account, seq, &row);
		if (!err && row.number != number) wrong("the pass of a ledger row", row.number, number);
		points += row.delta;
	}
	if (!err && points != pass.now.balance) wrong("the history of a pass", points, pass.now.balance);
	return err;
}

/* All rows of the account, and none behind them. */
static enum err add_ledger(struct view *view, struct account_id account, const struct total *total)
{
	struct ledger_row row;
	uint64_t          last;
	int64_t           points = 0;
	enum err          err = ledger_last(view, account, &last);
	if (!err && last != total->last) wrong("the newest ledger row", (int64_t)last, (int64_t)total->last);
	for (uint64_t seq = last; !err && seq; seq--)
		if (!(err = ledger_get(view, account, seq, &row))) points += row.delta;
	if (!err && points != total->points) wrong("the sum of a ledger", points, total->points);
	if (err) return err;
	err = ledger_get(view, account, last + 1, &row);
	if (!err) wrong("a ledger row that is made later", (int64_t)last + 1, -1);
	return err == ERR_NOT_FOUND ? OK : err;
}

static struct scan_row scan_of(uint32_t number)
{
	const uint8_t random[10] = {(uint8_t)number};
	return (struct scan_row){.id = uuid_v7((wall_us){number}, random), .pass = number * 3};
}

static void expect_scan(const struct scan_row *scan, uint32_t number)
{
	struct scan_row want = scan_of(number);
	if (!uuid_same(scan->id, want.id) || scan->pass != want.pass)
		wrong("the pass of a scan", scan->pass, want.pass);
}

/* Row by row, one by its number, and none behind the last. */
static enum err add_scans(struct view *view, struct account_id account, const struct total *total,
                          uint64_t *luck)
{
	struct scan_tally tally;
	struct scan_row   scan;
	enum err          err = scan_tally_whole(view, account, &tally);
	if (!err && tally.made != total->scans) wrong("the scans of a tally", tally.made, total->scans);
	for (uint32_t number = 0; !err && number < total->scans; number += SCAN_ROW_SCANS) {
		uint32_t    left = total->scans - number;
		struct span row;
		if ((err = scan_rows_get(view, account, number / SCAN_ROW_SCANS, &row))) break;
		unsigned used = scan_rows_counts(row)[SCAN_COUNT_USED];
		if (used != (left < SCAN_ROW_SCANS ? left : SCAN_ROW_SCANS))
			wrong("the scans of a row", used, left);
		for (unsigned i = 0; i < used; i++) {
			scan = scan_rows_member(row, i);
			expect_scan(&scan, number + i);
		}
	}
	uint32_t one = total->scans
	                   ? total->scans - 1 - chance_below(luck, total->scans < 99 ? total->scans : 99)
	                   : 0;
	if (!err && total->scans && !(err = scan_row_get(view, account, one, &scan))) expect_scan(&scan, one);
	if (err) return err;
	err = scan_row_get(view, account, total->scans, &scan);
	if (!err) wrong("a scan that is made later", total->scans, -1);
	return err == ERR_NOT_FOUND ? OK : err;
}

static void sum_of(struct view *view, struct account_id account, uint64_t *luck, bool is_whole)
{
	struct total total;
	int64_t      points = 0;
	if (total_get(view, account, &total)) return;
	enum err err = add_up(view, account, &total, luck, &points);
	if (!err && points != total.points) wrong("the sum of an account", points, total.points);
	if (!err) err = add_history(view, account, chance_below(luck, total.made));
	if (!err && (is_whole || chance_below(luck, LEDGER_ADDED_UP_IN) == 0))
		err = add_ledger(view, account, &total);
	if (!err) err = add_scans(view, account, &total, luck);
	if (err == ERR_OVERLOADED) {
		atomic_fetch_add(&refusals, 1);
		return;
	}
	if (err) wrong("an error of a read", err, OK);
	atomic_fetch_add(&sums, 1);
}

static void *read_on(void *data)
{
	struct arena arena = {0};
	struct view *view;
	uint64_t     luck = (uint64_t)(uintptr_t)data;
	must(!store_reader_open(store, &arena, &view));
	while (!atomic_load(&done)) {
		must(!store_reader_begin(view));
		for (unsigned i = 0; i < 1 + chance_below(&luck, 3); i++)
			sum_of(view, account_of(chance_below(&luck, ACCOUNTS)), &luck, false);
		store_reader_end(view);
		arena_reset(&arena);
	}
	store_reader_close(&view);
	arena_free(&arena);
	return NULL;
}

/* Writing ------------------------------------------------------------------------------------------------- */

static struct account_ends ends; /* of the account of the command */

static void put_event(struct view *view, struct account_id account, struct total *total,
                      struct ledger_row row, struct hot *hot)
{
	row.what = LEDGER_LOYALTY;
	row.status = hot->status;
	row.previous = hot->ledger_head;
	row.balance = hot->balance;
	good("gathering", scan_gather_if_due(view, account, &ends));
	hot->ledger_head = total->last = ++ends.ledger;
	total->points += row.delta;
	must(!ledger_put(view, account, total->last, &row));
}

static void scan(struct view *view, struct account_id account, struct total *total)
{
	struct scan_row row = scan_of(total->scans++);
	good("a scan", scan_row_add(view, account, &ends, &row));
	total->last = ends.ledger;
}

static void change(struct view *view, struct account_id account, struct total *total, uint64_t *luck)
{
	struct hot_at pass;
	int64_t       points = (int64_t)chance_below(luck, 2000) - 900;
	/* One that is only looked at, so that clean blocks come and go too. */
	good("a look", hot_get(view, account, chance_below(luck, total->made), &pass));
	good("a pass", hot_get(view, account, chance_below(luck, total->made), &pass));
	struct hot after = pass.now;
	after.balance += points;
	after.updated.v++;
	put_event(view, account, total, (struct ledger_row){.number = pass.number, .delta = points}, &after);
	if (chance_below(luck, 16) == 0) after.flags ^= HOT_REINSTALL_BLOCKED;
	good("a change", hot_put(view, &pass, &after));
}

static void command(struct arena *arena, uint64_t *luck)
{
	struct account_id account = account_of(chance_below(luck, ACCOUNTS));
	struct writes     writes = writes_none(arena);
	struct view      *view = store_view(store, &writes, arena);
	struct total      total = {0};
	enum err          err = total_get(view, account, &total);
	must(!err || err == ERR_NOT_FOUND);
	good("the ends", account_ends_get(view, account, &ends));
	must(ends.ledger == total.last && ends.scans == total.scans);
	if (total.made >= PASSES_FIRST && chance_below(luck, SCAN_IN) == 0) {
		scan(view, account, &total);
	} else if (total.made < PASSES_FIRST || (total.made < PASSES_MAX && chance_below(luck, 50) == 0)) {
		struct hot        pass = {.status = 2, .template = 1, .balance = chance_below(luck, 100)};
		struct ledger_row row = {.number = total.made, .delta = pass.balance};
		put_event(view, account, &total, row, &pass);
		good("a creation", hot_add(view, account, total.made++, &pass));
	} else {
		for (unsigned left = 1 + chance_below(luck, 3); left; left--)
			change(view, account, &total, luck);
	}
	total_put(&writes, account, &total);
	good("writes", store_apply(store, &writes));
	arena_reset(arena);
	atomic_fetch_add(&commands, 1);
}

static void settle(void)
{
	for (unsigned looks = 0; store_is_syncing(store); looks++) {
		must(!store_settle(store));
		if (looks) usleep(20);
	}
}

static void turn(uint64_t *luck)
{
	while (!store_can_submit(store)) {
		must(!store_settle(store));
		usleep(20);
	}
	store_submit(store, (wall_us){1});
	if (chance_below(luck, 3) && !store_wants_commit(store)) return;
	settle();
	do {
		if (store_owes_slice(store, chance_below(luck, 8) == 0)) {
			good("a slice", store_slice(store, false));
			atomic_fetch_add(&slices, 1);
		} else {
			must(!store_commit(store));
		}
	} while (store_wants_commit(store));
}

static void expect_all(uint64_t *luck)
{
	struct arena arena = {0};
	struct view *view;
	unsigned     before = atomic_load(&sums);
	must(!store_reader_open(store, &arena, &view) && !store_reader_begin(view));
	for (unsigned i = 0; i < ACCOUNTS; i++)
		sum_of(view, account_of(i), luck, true);
	must(atomic_load(&sums) == before + ACCOUNTS);
	store_reader_end(view);
	store_reader_close(&view);
	arena_free(&arena);
}

static void expect_all_after_a_start(struct shard_dir at, const struct test_dir *place, bool was_killed,
                                     uint64_t *luck)
{
	struct store_report report;
	at.dir_fd = place->fd;
	must(!store_open(&at, (wall_us){1}, &store, &report));
	must(!report.rebuilt && (report.clean_mark == CLEAN_MARK_OPEN) == was_killed);
	expect_all(luck);
	store_close(&store);
}

int main(int argc, char **argv)
{
	struct store_report report;
	pthread_t           readers[READERS];
	struct arena        arena = {0};
	uint64_t            luck = chance_begin();
	for (int i = 1; i < argc; i++) {
		is_control |= !strcmp(argv[i], "--control");
		if (!strcmp(argv[i], "--blocks") && i + 1 < argc)
			blocks = (unsigned)strtoul(argv[++i], NULL, 10);
	}
	test_dir_make(&test_dir);
	struct shard_dir at = shop_place(&test_dir, true);
	at.late_round_bytes = ROUND_BYTES;
	at.late_slice_rows = SLICE_ROWS;
	at.late_tails_bytes = TAILS_BYTES;
	at.memory_blocks = blocks;
	must(!store_open(&at, (wall_us){1}, &store, &report));
	for (unsigned i = 0; i < READERS; i++)
		must(!pthread_create(&readers[i], NULL, read_on, (void *)(uintptr_t)(i + 1)));
	while (atomic_load(&commands) < COMMANDS || atomic_load(&sums) < SUMS_LEAST ||
	       (blocks && store_counters(store).evictions < EVICTIONS_LEAST)) {
		for (unsigned left = 1 + chance_below(&luck, TURN_COMMANDS); left; left--)
			if (!store_wants_commit(store)) command(&arena, &luck);
		turn(&luck);
	}
	atomic_store(&done, true);
	for (unsigned i = 0; i < READERS; i++)
		must(!pthread_join(readers[i], NULL));
	settle();
	must(!store_commit(store));
	expect_all(&luck);
	test_dir_copy(&test_dir, &killed);
	uint64_t evictions = store_counters(store).evictions;
	store_close(&store);
	expect_all_after_a_start(at, &test_dir, false, &luck);
	expect_all_after_a_start(at, &killed, true, &luck);
	arena_free(&arena);
	test_dir_remove(&test_dir);
	test_dir_remove(&killed);
	printf("%u commands, %u slices, %u sums, %u pauses, %u views too old, %u evictions\n",
	       atomic_load(&commands), atomic_load(&slices), atomic_load(&sums), atomic_load(&waits),
	       atomic_load(&refusals), (unsigned)evictions);
	must(atomic_load(&slices) > 0 && atomic_load(&waits) > 0);
	must(!blocks == !evictions);
	return is_control;
}
