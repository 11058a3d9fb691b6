/* The checks of a state. They only read, apart from what the recovery itself writes. */
#include "tests/crash/judge.h"

#include "schemas/bytes.h"
#include "store/audit.h"
#include "store/hot.h"
#include "store/keys.h"
#include "store/record.h"
#include "store/segment.h"
#include "store/verify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct court {
	const struct setting *setting;
	const struct history *history;
	struct store         *store;
	struct view          *reader;
	struct arena          arena;
	struct judged        *judged;
};

static bool wrong(struct court *court, const char *text, enum err err)
{
	snprintf(court->judged->what, JUDGE_TEXT, "%s: %s", text, err_code(err));
	return false;
}

/* The points of a pass that a client was answered. There may be more, since points are only ever added. */
static bool keeps(struct court *court, const struct promise *promise)
{
	struct account_id id;
	struct view_row   row;
	struct hot_at     pass;
	enum { ACCOUNT = ACCOUNT_ID_TEXT - 1 };
	must(promise->size > ACCOUNT && account_id_read(span_of(promise->whose, ACCOUNT), &id));
	struct span    pass_id = span_of(promise->whose + ACCOUNT, promise->size - ACCOUNT);
	struct row_key key = key_pass_id(id, pass_id, UINT32_MAX);
	enum err       err = view_from(court->reader, TABLE_PASS_ID, key_span(&key), &row);
	if (!err && (row.key.size != key.size || memcmp(row.key.at, key.bytes, key.size - 4)))
		err = ERR_NOT_FOUND;
	if (!err) err = hot_get(court->reader, id, ~get_be32(row.key.at + key.size - 4), &pass);
	if (err) return wrong(court, "a pass that was told of", err);
	if (pass.now.balance >= promise->balance) return true;
	snprintf(court->judged->what, JUDGE_TEXT, "pass %.*s has %lld points, told were %lld",
	         (int)pass_id.size, (const char *)pass_id.at, (long long)pass.now.balance,
	         (long long)promise->balance);
	return false;
}

static bool rows_agree(struct court *court, struct view *plain)
{
	struct audit    audit;
	struct progress progress = {.done = 0};
	struct faults   faults = {.count = 0};
	enum err        err = audit_tables(plain, &audit, &faults, &progress);
	if (err) return wrong(court, "audit", err);
	if (faults.count == 0) return true;
	snprintf(court->judged->what, JUDGE_TEXT, "audit: %llu faults; %s; %s",
	         (unsigned long long)faults.count, faults.texts[0], faults.count > 1 ? faults.texts[1] : "");
	return false;
}

/* Once more without anything in memory: the rows that the next start would find after an orderly stop. */
static bool rows_hold(struct court *court, uint64_t digest)
{
	uint64_t     again;
	struct view *plain = NULL;
	enum err     err = store_write_all(court->store);
	if (!err) err = db_reader_open(store_tables(court->store), &court->arena, &plain);
	if (!err) err = db_reader_begin(plain);
	if (!err) err = contents_of_view(plain, NULL, &again);
	if (!err && again != digest) err = ERR_DAMAGED;
	if (err) wrong(court, "the rows once all are written", err);
	bool good = !err && rows_agree(court, plain);
	db_reader_close(&plain);
	return good;
}

static bool tables_hold(struct court *court)
{
	uint64_t     digest;
	char         text[200];
	struct view *writer = store_view(court->store, NULL, &court->arena);
	enum err     err = contents_of_view(court->reader, writer, &digest);
	if (err) return wrong(court, "a row", err);
	/* The newest record is the epoch that this start made. */
	if (!history_allows(court->history, court->judged->report.seq - 1, digest, text)) {
		snprintf(court->judged->what, JUDGE_TEXT, "%s (replayed %llu%s%s)", text,
		         (unsigned long long)court->judged->report.replayed_records,
		         court->judged->report.rebuilt ? ", rebuilt" : "",
		         court->judged->report.cut_tail ? ", cut" : "");
		return false;
	}
	for (unsigned i = 0; i < court->history->promise_count; i++)
		if (!keeps(court, &court->history->promises[i])) return false;
	return rows_hold(court, digest);
}

/* After the end of a segment's records the next start must not find the beginning of an invalid one. */
static bool segment_ends_blank(struct court *court, const struct journal_dir *dir, uint64_t number)
{
	static uint8_t block[RECORD_ALIGN];
	struct record  record;
	int            fd;
	uint64_t       bytes, at = RECORD_ALIGN;
	enum err       err = segment_open(dir, number, &fd, &bytes);
	if (err) return wrong(court, "a segment of the recovered journal", err);
	uint8_t *all = malloc(bytes);
	must(all && pread(fd, all, bytes, 0) == (ssize_t)bytes);
	close(fd);
	while (at < bytes && !record_open(span_of(all + at, bytes - at), &record))
		at += record_room(record.writes.size);
	bool blank = at >= bytes || memcmp(all + at, block, sizeof block) == 0;
	free(all);
	if (blank) return true;
	snprintf(court->judged->what, JUDGE_TEXT,
	         "behind the last record of segment %llu, at %llu, the place is not blank",
	         (unsigned long long)number, (unsigned long long)at);
	return false;
}

static bool journal_goes_on(struct court *court, int shard_fd)
{
	uint64_t           first, last;
	struct journal_dir dir = {.shard = court->setting->shard,
	                          .segment_bytes = court->setting->segment_bytes};
	memcpy(dir.lineage, court->setting->lineage, sizeof dir.lineage);
	dir.fd = openat(shard_fd, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(dir.fd >= 0);
	enum err err = segment_range(&dir, &first, &last);
	bool     good = !err || wrong(court, "the segments of the recovered journal", err);
	for (uint64_t number = first; good && number <= last; number++)
		good = segment_ends_blank(court, &dir, number);
	close(dir.fd);
	return good;
}

/* Runs the store's own verification, which must not report the state that a recovery leaves. */
static bool verifies(struct court *court, const struct shard_dir *test_dir)
{
	static struct verify_report report;
	struct progress             progress = {.done = 0};
	enum err err = verify_shard(&(struct verify_order){.shard_dir = test_dir, .progress = &progress},
	                            &report);
	if (err) return wrong(court, "verification", err);
	if (report.faults.count == 0) return true;
	snprintf(court->judged->what, JUDGE_TEXT, "verification: %llu faults; %s; %s",
	         (unsigned long long)report.faults.count, report.faults.texts[0],
	         report.faults.count > 1 ? report.faults.texts[1] : "");
	return false;
}

static bool examine(struct court *court, int shard_fd)
{
	if (store_reader_open(court->store, &court->arena, &court->reader) ||
	    store_reader_begin(court->reader))
		return wrong(court, "reading", ERR_IO);
	bool good = tables_hold(court);
	store_reader_end(court->reader);
	store_reader_close(&court->reader);
	store_close(&court->store); /* the thread that makes segments is idle */
	return good && journal_goes_on(court, shard_fd);
}

bool judge(const char *path, const struct setting *setting, const struct history *history,
           struct judged *judged)
{
	struct court court = {.setting = setting, .history = history, .judged = judged};
	int          fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	enum beginning   beginning = history_beginning(history);
	struct shard_dir test_dir = setting_place(setting, fd, beginning);
	enum err         err = store_open(&test_dir, (wall_us){1}, &court.store, &judged->report);
	bool             good = !err && examine(&court, fd);
	if (err)
		snprintf(judged->what, JUDGE_TEXT, "does not open: %s: %s", err_code(err),
		         judged->report.what);
	if (good && judged->report.refused[0]) {
		snprintf(judged->what, JUDGE_TEXT, "tables that were to be believed were not: %s",
		         judged->report.refused);
		good = false;
	}
	good = good && verifies(&court, &test_dir);
	store_close(&court.store);
	arena_free(&court.arena);
	close(fd);
	return good;
}
