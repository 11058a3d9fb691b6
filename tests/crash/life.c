/* The work: one account with one template, whose passes are created, given points, scanned, edited and deleted, with
 * the rows of a shard. Commands are batched in a record while the previous record is being written. */
#include "tests/crash/life.h"

#include "tests/crash/contents.h"
#include "tests/crash/recorder.h"

#include "schemas/body.h"
#include "schemas/bytes.h"
#include "store/account_row.h"
#include "store/hot.h"
#include "store/idempotency.h"
#include "store/index.h"
#include "store/keys.h"
#include "store/ledger.h"
#include "store/reader_row.h"
#include "store/scan_row.h"
#include "store/tally.h"
#include "tests/unit/support.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum {
	PASSES_MAX = 240,
	KEYS = 60,              /* idempotency keys that clients use */
	KEYS_KEPT = 20,         /* of an account */
	ROWS_BYTES = 4 << 10,   /* where memory is short: some of these keys */
	ROUND_BYTES = 64 << 10, /* several rounds a life, of several slices each */
	LARGE_BYTES_MAX = 7000,
	COMMANDS_MAX = 4,
	RECORD_FULL_BYTES = 3000,    /* no command begins behind it */
	RECORD_BYTES_MAX = 16 << 10, /* of a segment of this test */
	OTHER_BYTES_MAX = 2 << 10,   /* of a creation, beside its body and whole rows */
	SNAPSHOT_IN = 10,
	TEMPLATE = 1,
};

enum pass_status {
#define S(name, text) PASS_##name,
#include "schemas/states.def"
#undef S
};

static_assert(RECORD_FULL_BYTES + LARGE_BYTES_MAX + HOT_ROW_BYTES + SCAN_ROW_BYTES + OTHER_BYTES_MAX <=
                  RECORD_BYTES_MAX,
              "the journal refuses no record of a life");

static const struct account_id account = {{'c', 'r', 'a', 's', 'h'}};

struct life {
	struct store       *store;
	struct arena        arena;
	struct writes       writes;
	struct view        *view;
	uint64_t            luck, told;
	unsigned            idle_in; /* moments, one of which is as if nobody were waiting */
	struct account_ends ends;
	wall_us             now;
	struct key {
		bool                     is_used; /* by this command */
		uint8_t                  hash[32];
		uint64_t                 order;
		unsigned                 old_count;
		struct idempotency_order old[2]; /* rows that go: the key's own, the oldest */
	} key;
};

struct shard_dir setting_place(const struct setting *setting, int dir_fd, enum beginning beginning)
{
	struct shard_dir test_dir = {.dir_fd = dir_fd,
	                             .shard = setting->shard,
	                             .may_format = beginning == BEGINS_EMPTY,
	                             .restored = beginning == BEGINS_RESTORED,
	                             .segment_bytes = setting->segment_bytes,
	                             .map_bytes = setting->map_bytes,
	                             .late_round_bytes = setting->round_bytes ? setting->round_bytes
	                                                                      : ROUND_BYTES,
	                             .late_slice_rows = 1,
	                             .memory_blocks = setting->memory_blocks,
	                             .late_rows_bytes = setting->memory_blocks ? (uint64_t)ROWS_BYTES : 0};
	memcpy(test_dir.lineage, setting->lineage, sizeof test_dir.lineage);
	return test_dir;
}

/* Commands ------------------------------------------------------------------------------------------------ */

static void begin_command(struct life *life)
{
	arena_reset(&life->arena);
	life->writes = writes_none(&life->arena);
	life->view = store_view(life->store, &life->writes, &life->arena);
	must(!account_ends_get(life->view, account, &life->ends));
	life->now.v += 1000;
}

static void put(struct life *life, enum table table, struct row_key key, struct span value)
{
	must(!write_put(&life->writes, table, key_span(&key), value));
}

/* As engine/idempotency.c does it, except that a key is used again at any time: its row goes and comes back. Before anything
 * is staged. */
static void plan_key(struct life *life)
{
	struct key              *key = &life->key;
	struct idempotency_row   row;
	struct idempotency_order oldest;
	*key = (struct key){.is_used = chance_below(&life->luck, 2)};
	if (!key->is_used) return;
	key->hash[0] = (uint8_t)(chance_below(&life->luck, KEYS) * 4);
	enum err err = idempotency_get(life->view, account, key->hash, &row);
	must(!err || err == ERR_NOT_FOUND);
	if (!err) {
		key->old[key->old_count] = (struct idempotency_order){.order = row.order};
		memcpy(key->old[key->old_count++].key, key->hash, sizeof key->hash);
	}
	must(!idempotency_last(life->view, account, 0, &key->order));
	key->order++;
	err = idempotency_after(life->view, account, 0, &oldest);
	must(!err || err == ERR_NOT_FOUND);
	if (!err && key->order - oldest.order >= KEYS_KEPT) key->old[key->old_count++] = oldest;
}

static void put_key(struct life *life)
{
	const struct key      *key = &life->key;
	struct idempotency_row row = {.at = life->now, .order = key->order};
	if (!key->is_used) return;
	for (unsigned i = 0; i < key->old_count; i++)
		must(!idempotency_del(life->view, account, &key->old[i]));
	must(!idempotency_put(life->view, account, key->hash, &row));
}

static void make_account(struct life *life)
{
	static const char text[] =
	    "{\"name\":\"Card\",\"loyalty_type\":\"balance\",\"name_field\":\"name\",\"fields\":"
	    "[{\"key\":\"name\",\"label\":\"Name\",\"type\":\"text\"},{\"key\":\"points\",\"label\":"
	    "\"Points\",\"type\":\"number\",\"locked\":true}]}";
	struct account_row row = {
	    .created = life->now, .template_count = TEMPLATE, .name = span_str("Crash")};
	must(!account_row_put(life->view, account, &row));
	put(life, TABLE_TEMPLATE, key_u32(account, TEMPLATE), span_str(text));
}

/* The body as it is now and the index rows of the pass, before anything else is staged. */
static void put_index(struct life *life, uint32_t number, const struct body *body)
{
	struct row_key      key = key_u32(account, number);
	struct body         before;
	struct span         value;
	struct index_change change = {
	    .account = account, .number = number, .name_field = span_str("name"), .after = body};
	enum err err = view_get(life->view, TABLE_BODY, key_span(&key), &value);
	must(!err || err == ERR_NOT_FOUND);
	if (!err) must(!body_open(value, &before));
	if (!err) change.before = &before;
	must(!index_put(life->view, &change));
}

static void put_body(struct life *life, uint32_t number)
{
	char          id[32], visible[64];
	size_t        large = chance_below(&life->luck, 8) ? 20 : chance_below(&life->luck, LARGE_BYTES_MAX);
	struct buffer hidden = {0}, bytes = {0};
	struct body   body = {.token = {1}};
	snprintf(id, sizeof id, "pass-%u", number);
	snprintf(visible, sizeof visible, "{\"name\":\"%llx\"}", (unsigned long long)chance(&life->luck));
	buffer_text(&hidden, "{\"text\":\"");
	for (size_t i = 0; i < large; i++)
		buffer_byte(&hidden, (uint8_t)('a' + chance_below(&life->luck, 26)));
	buffer_text(&hidden, "\"}");
	body.pass_id = span_str(id);
	body.visible = span_str(visible);
	body.hidden = buffer_span(&hidden);
	body_pack(&body, &bytes);
	must(!bytes.failed && !hidden.failed);
	put_index(life, number, &body);
	put(life, TABLE_BODY, key_u32(account, number), buffer_span(&bytes));
	buffer_free(&bytes);
	buffer_free(&hidden);
}

static void put_event(struct life *life, struct ledger_row row, struct hot *hot)
{
	row.status = hot->status;
	row.flags = hot->flags;
	row.at = life->now;
	row.previous = hot->ledger_head;
	row.balance = row.what == LEDGER_LOYALTY ? hot->balance : 0;
	must(!scan_gather_if_due(life->view, account, &life->ends));
	hot->ledger_head = ++life->ends.ledger;
	must(!ledger_put(life->view, account, hot->ledger_head, &row));
}

static void create(struct life *life, struct tally *tally)
{
	struct hot hot = {
	    .status = PASS_CREATING, .template = TEMPLATE, .created = life->now, .updated = life->now};
	uint32_t number = tally->made;
	put_body(life, number);
	put_event(life, (struct ledger_row){.number = number, .what = LEDGER_CREATED}, &hot);
	hot.status = PASS_ISSUED;
	put_event(life, (struct ledger_row){.number = number, .what = LEDGER_ISSUED}, &hot);
	must(!hot_add(life->view, account, number, &hot));
	tally->made++;
	tally->counts[hot_count(&hot)]++;
	must(!tally_put(life->view, account, tally));
}

static void change(struct life *life, uint32_t number)
{
	struct hot_at     pass;
	struct ledger_row row = {.number = number, .what = LEDGER_LOYALTY};
	unsigned          what = chance_below(&life->luck, 16);
	must(!hot_get(life->view, account, number, &pass));
	struct hot after = pass.now;
	after.updated = life->now;
	if (what == 0 || after.flags & HOT_DELETED) {
		put_body(life, number);
		must(!hot_put(life->view, &pass, &after));
		return;
	}
	if (what == 1) {
		after.flags |= HOT_DELETED;
		after.status = PASS_DEACTIVATED;
		row.what = LEDGER_DELETED;
	} else {
		row.delta = (int64_t)chance_below(&life->luck, 1000) - 300;
		after.balance += row.delta;
	}
	put_event(life, row, &after);
	must(!hot_put(life->view, &pass, &after));
	must(!tally_move(life->view, account, &pass.now, &after));
}

/* False: it is deleted already. */
static bool delete_scan(struct life *life, uint32_t number)
{
	struct reader_row reader;
	struct scan_row   scan;
	must(!scan_row_get(life->view, account, number, &scan));
	if (scan.deleted) return false;
	must(!scan_gather(life->view, account, &life->ends));
	must(!scan_row_delete(life->view, account, number));
	if (!scan.reader) return true;
	must(!reader_row_get(life->view, account, scan.reader, &reader));
	reader.scans--;
	must(!(reader.scans ? reader_row_count(life->view, account, &reader)
	                    : reader_row_del(life->view, account, &reader)));
	return true;
}

static uint32_t take_reader(struct life *life)
{
	struct scan_tally tally;
	struct reader_row reader;
	char              id[] = {'t', (char)('a' + chance_below(&life->luck, 5)), 0};
	enum err          err = reader_row_find(life->view, account, span_str(id), &reader);
	must(!err || err == ERR_NOT_FOUND);
	if (!err) return reader.number;
	must(!scan_tally_get(life->view, account, &tally));
	reader = (struct reader_row){.number = ++tally.readers, .id = span_str(id)};
	must(!reader_row_put(life->view, account, &reader));
	must(!scan_tally_put(life->view, account, &tally));
	return reader.number;
}

/* By a reader that comes and goes; or an old one is deleted. */
static void scan(struct life *life, uint32_t number)
{
	struct scan_row row = {.pass = number};
	struct hot_at   pass;
	uint8_t         random[10] = {0};
	bool            deletes = life->ends.scans && chance_below(&life->luck, 12) == 0;
	if (deletes && delete_scan(life, chance_below(&life->luck, life->ends.scans))) return;
	put_le64(random, chance(&life->luck));
	row.id = uuid_v7(life->now, random);
	if (chance_below(&life->luck, 2)) row.reader = take_reader(life);
	must(!scan_row_add(life->view, account, &life->ends, &row));
	must(!hot_get(life->view, account, number, &pass));
	struct hot after = pass.now;
	after.last_scan = life->now;
	after.scan_count++;
	must(!hot_put(life->view, &pass, &after));
}

static void command(struct life *life)
{
	struct account_row row;
	struct tally       tally;
	begin_command(life);
	plan_key(life);
	enum err err = account_row_get(life->view, account, &row);
	must(!err || err == ERR_NOT_FOUND);
	must(!tally_get(life->view, account, &tally));
	if (err)
		make_account(life);
	else if (!tally.made || (tally.made < PASSES_MAX && chance_below(&life->luck, 4) == 0))
		create(life, &tally);
	else if (chance_below(&life->luck, 4))
		change(life, chance_below(&life->luck, tally.made));
	else
		scan(life, chance_below(&life->luck, tally.made));
	put_key(life);
	must(!store_apply(life->store, &life->writes));
}

/* The turn ------------------------------------------------------------------------------------------------ */

/* Durable records are reported at once. */
static void settle(struct life *life)
{
	must(!store_settle(life->store));
	uint64_t durable = store_durable_seq(life->store);
	if (durable != life->told) recorder_mark(MARK_SEQ, durable, 0);
	life->told = durable;
}

/* The submitted record may already have become durable, so each wait is preceded by a check. Twenty seconds
 * of waits count as a hang. */
static void look(struct life *life, unsigned *looks)
{
	struct pollfd news = {.fd = store_fd(life->store), .events = POLLIN};
	if ((*looks)++) (void)poll(&news, 1, 1);
	must(*looks < 20000);
	settle(life);
}

/* As often as one is due, and now and then as if nobody were waiting. The store says when it may be. */
static void write_slice(struct life *life)
{
	if (store_owes_slice(life->store, chance_below(&life->luck, life->idle_in) == 0))
		must(!store_slice(life->store, false));
	while (store_wants_commit(life->store) && store_owes_slice(life->store, false))
		must(!store_slice(life->store, false));
}

static void commit_if_idle(struct life *life)
{
	for (unsigned looks = 0; store_is_syncing(life->store);)
		look(life, &looks);
	if (store_open_bytes(life->store) == 0 && chance_below(&life->luck, 3) == 0)
		must(!store_commit(life->store));
	write_slice(life);
}

/* Snapshots are made during the work, and then the journal before them is deleted. */
static void ask_for_snapshot(struct life *life)
{
	uint64_t number;
	enum err err = snapshotter_ask(store_snapshotter(life->store), JOB_SNAPSHOT, span_of(NULL, 0),
	                               &number);
	must(!err || err == ERR_RESOURCE_CONFLICT);
}

static void wait_for_snapshot(struct life *life)
{
	static struct snapshotter_state state;
	for (;;) {
		snapshotter_state(store_snapshotter(life->store), &state);
		if (!state.running) break;
		usleep(200);
	}
	must(!state.err);
}

static void live(struct life *life, unsigned records)
{
	for (; records; records--) {
		for (unsigned left = 1 + chance_below(&life->luck, COMMANDS_MAX); left; left--)
			if (store_open_bytes(life->store) < RECORD_FULL_BYTES) command(life);
		for (unsigned looks = 0; !store_can_submit(life->store);)
			look(life, &looks);
		store_submit(life->store, life->now);
		write_slice(life);
		if (chance_below(&life->luck, 2)) commit_if_idle(life);
		if (chance_below(&life->luck, SNAPSHOT_IN) == 0) ask_for_snapshot(life);
		if (chance_below(&life->luck, SNAPSHOT_IN) == 0) wait_for_snapshot(life);
	}
	for (unsigned looks = 0; store_is_syncing(life->store);)
		look(life, &looks);
	wait_for_snapshot(life);
}

/* Reads the whole tables, so that the record at which they are can be compared with what was written. */
static void mark_digest(struct life *life, uint64_t seq)
{
	struct view *reader = NULL;
	uint64_t     digest;
	must(!store_reader_open(life->store, &life->arena, &reader) && !store_reader_begin(reader));
	must(!contents_of_view(reader, store_view(life->store, NULL, &life->arena), &digest));
	store_reader_end(reader);
	store_reader_close(&reader);
	recorder_mark(MARK_DIGEST, seq, digest);
}

enum err life_run(const struct life_order *order, char what[160])
{
	struct store_report report;
	struct life         life = {.luck = order->seed};
	int                 fd = open(order->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	/* Some lives write their late rows soon, some leave them behind for long. */
	struct setting setting = *order->setting;
	setting.round_bytes = ROUND_BYTES << chance_below(&life.luck, 3);
	life.idle_in = chance_below(&life.luck, 2) ? 12 : 200;
	if (chance_below(&life.luck, 3) == 0) setting.memory_blocks = MEMORY_BLOCKS;
	struct shard_dir test_dir = setting_place(&setting, fd, order->beginning);
	enum err         err = store_open(&test_dir, (wall_us){1}, &life.store, &report);
	snprintf(what, 160, "%.159s", report.what);
	if (err) goto out;
	recorder_mark(MARK_OPENED, report.seq, 0);
	mark_digest(&life, report.seq);
	life.told = report.seq;
	life.now = report.last_now;
	live(&life, order->records);
	if (order->snapshot) {
		if (!store_is_committed(life.store)) must(!store_commit(life.store));
		ask_for_snapshot(&life);
		wait_for_snapshot(&life);
	}
	if (order->end == LIFE_CLOSED) store_close(&life.store);
out:
	arena_free(&life.arena);
	close(fd);
	return err;
}
