/* Verifies a shard's whole directory in order of dependence: the journal's segments and the chain of its records;
 * the snapshots, each of which must join the journal; and the tables, if trusted, which must join it too. Nothing is
 * written. Flaws that recovery mends are left alone, and reported only if mending would lose data. */
#include "store/verify.h"

#include "schemas/crc32c.h"
#include "store/file.h"
#include "store/scan.h"
#include "store/shard_dir.h"
#include "store/shape.h"
#include "store/clean_mark.h"
#include "store/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SNAPSHOTS_MAX = 8, MARK_BYTES_MAX = 256 };

struct verifying {
	const struct verify_order *order;
	struct verify_report      *report;
	struct faults             *faults;
	struct journal_dir         dir;
	struct scan                scan;
	uint64_t                   first, last;              /* segments; 0: none */
	struct position            begin;                    /* before the journal's first record */
	bool                       begun;                    /* it exists */
	struct snapshot            snapshots[SNAPSHOTS_MAX]; /* newest first */
	unsigned                   snapshot_count;
	struct arena               arena;
	uint64_t                   planned;  /* of the progress, at the end of the current step */
	char                       part[48]; /* being read */
};

static void begin_part(struct verifying *v, const char *name, uint64_t number)
{
	int size = snprintf(v->part, sizeof v->part, "%s", name);
	if (number) snprintf(v->part + size, sizeof v->part - (size_t)size, " %" PRIu64, number);
}

/* A step counts its work as it goes; at its end, the count is set to the announced amount. */
static void step_done(struct verifying *v, uint64_t bytes)
{
	v->planned += bytes;
	if (v->order->progress) atomic_store(&v->order->progress->done, v->planned);
}

static enum err go_on(struct verifying *v, uint64_t bytes)
{
	return progress_step(v->order->progress, bytes) ? OK : ERR_STOPPED;
}

/* Segments ------------------------------------------------------------------------------------------------ */

/* As segment_range(), but reports each gap. */
static enum err list_segments(struct verifying *v)
{
	int            fd = openat(v->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint64_t       number, count = 0;
	if (!list) {
		if (fd >= 0) close(fd);
		return ERR_IO;
	}
	while ((entry = readdir(list))) {
		if (!segment_number_read(entry->d_name, &number)) continue;
		if (!v->first || number < v->first) v->first = number;
		if (number > v->last) v->last = number;
		count++;
	}
	closedir(list);
	if (count && v->last - v->first + 1 != count)
		fault(v->faults, "journal: %" PRIu64 " segments are missing between %" PRIu64 " and %" PRIu64,
		      v->last - v->first + 1 - count, v->first, v->last);
	v->report->segments = count;
	return OK;
}

/* Every segment's head, also of empty segments. Errors: also ERR_UNSUPPORTED: a version is not known, which has been
 * reported; the rest would only be misread. */
static enum err check_heads(struct verifying *v)
{
	for (uint64_t number = v->first; number && number <= v->last; number++) {
		int      fd = -1;
		uint64_t bytes;
		char     why[VERSION_TEXT];
		begin_part(v, "journal segment", number);
		enum err err = segment_judge_version(&v->dir, number, why);
		if (err) fault(v->faults, "%s", why);
		if (err) return err;
		err = segment_open(&v->dir, number, &fd, &bytes);
		if (err == ERR_DAMAGED)
			fault(v->faults, "journal segment %" PRIu64 ": its head or size is damaged", number);
		else if (err == ERR_NOT_MINE)
			fault(v->faults, "journal segment %" PRIu64 ": of another shard or data directory",
			      number);
		else if (err && err != ERR_NOT_FOUND)
			return err;
		if (fd >= 0) close(fd);
	}
	return OK;
}

/* The start of the chain: before the first record of the first segment, whatever its number. */
static enum err find_begin(struct verifying *v)
{
	struct position at = {.segment = v->first, .offset = RECORD_ALIGN};
	struct record   record;
	int             fd;
	uint64_t        bytes;
	enum err        err = segment_open(&v->dir, v->first, &fd, &bytes);
	if (err) return err == ERR_IO || err == ERR_NO_MEMORY ? err : OK; /* check_heads() has reported it */
	uint8_t *whole = malloc((size_t)bytes);
	ssize_t  n = whole ? pread(fd, whole, (size_t)bytes, 0) : 0;
	close(fd);
	if (n == (ssize_t)bytes &&
	    !record_open(span_of(whole + RECORD_ALIGN, (size_t)bytes - RECORD_ALIGN), &record)) {
		at.seq = record.seq - 1;
		at.epoch = record.epoch;
		at.chain = record.chain_before;
		v->begin = at;
		v->begun = true;
	}
	free(whole);
	if (!whole) return ERR_NO_MEMORY;
	return n == (ssize_t)bytes ? OK : ERR_IO;
}

/* Records ------------------------------------------------------------------------------------------------- */

static enum err check_operations(struct verifying *v, const struct record *record)
{
	struct span  left = record->writes;
	struct write write;
	uint32_t     count = 0;
	enum err     err;
	while (!(err = record_next(&left, &v->arena, &write)))
		count++;
	arena_reset(&v->arena);
	if (err == ERR_NO_MEMORY) return err;
	if (err != ERR_NOT_FOUND || count != record->operations)
		fault(v->faults,
		      "journal segment %" PRIu64 ": record %" PRIu64 " holds operations of a wrong form",
		      record->segment, record->seq);
	return OK;
}

static void check_padding(struct verifying *v, const struct record *record, uint64_t offset)
{
	const struct scanned *here = v->scan.here;
	if (!record_padding_holds(span_of(here->bytes + offset, (size_t)(here->size - offset)), record))
		fault(v->faults,
		      "journal segment %" PRIu64 ": the bytes behind record %" PRIu64 " are not zeros",
		      record->segment, record->seq);
}

static bool is_far_enough(const struct verifying *v, const struct position *at)
{
	return v->order->served && at->seq >= v->order->durable_seq;
}

/* The chain has ended: is that far enough? */
static enum err judge_end(struct verifying *v, const struct position *at)
{
	bool     blank;
	enum err err = OK;
	if (is_far_enough(v, at)) return OK;
	if (!v->order->served) err = scan_tail(&v->scan, at, &blank);
	if (!v->order->served && err != ERR_DAMAGED) return err;
	fault(v->faults,
	      "journal segment %" PRIu64 ": record %" PRIu64
	      " is damaged or missing, at or after byte %" PRIu64,
	      at->segment ? at->segment : v->first, at->seq + 1,
	      at->segment ? at->offset : (uint64_t)RECORD_ALIGN);
	return OK;
}

static enum err walk_records(struct verifying *v)
{
	struct position at = v->begin;
	struct record   record;
	char            why[VERSION_TEXT];
	enum err        err = OK;
	while (!is_far_enough(v, &at) && !(err = scan_next(&v->scan, &at, &record))) {
		v->report->records++;
		check_padding(v, &record, at.record_offset);
		if ((err = check_operations(v, &record)) || (err = go_on(v, record_room(record.writes.size))))
			return err;
	}
	v->report->seq = at.seq;
	if (err == ERR_UNSUPPORTED) {
		scan_refusal(&v->scan, why);
		fault(v->faults, "%s", why);
		return OK;
	}
	if (err == ERR_DAMAGED) {
		fault(v->faults, "journal segment %" PRIu64 ": cannot be read on behind record %" PRIu64,
		      at.segment, at.seq);
		return OK;
	}
	return err && err != ERR_NOT_FOUND ? err : judge_end(v, &at);
}

static enum err verify_journal(struct verifying *v)
{
	enum err err;
	if (!v->last) return OK;
	if ((err = check_heads(v))) return err;
	begin_part(v, "journal", 0);
	if ((err = find_begin(v))) return err;
	scan_begin(&v->scan, &v->dir, v->last);
	if (!v->begun && v->first > 1) {
		fault(v->faults, "journal segment %" PRIu64 ": its first record is damaged", v->first);
		return OK;
	}
	return walk_records(v);
}

/* Can tables or a snapshot at position `at` be continued from this journal? */
static enum err verify_joined(struct verifying *v, const struct applied *at, const char *what)
{
	struct position position = {
	    .segment = at->segment, .record_offset = at->record_offset, .seq = at->seq, .chain = at->chain};
	bool joined;
	if (at->seq == 0) return OK;
	if (at->segment == 0) { /* restored: the journal begins behind it, or does not exist yet */
		joined = !v->last ||
		         (v->first == 1 &&
		          (!v->begun || (v->begin.seq == at->seq && v->begin.chain == at->chain)));
	} else {
		enum err err = v->last && at->segment >= v->first && at->segment <= v->last
		                   ? scan_check(&v->scan, &position)
		                   : ERR_DAMAGED;
		if (err && err != ERR_DAMAGED && err != ERR_UNSUPPORTED) return err;
		joined = !err;
	}
	if (!joined)
		fault(v->faults,
		      "%s: stands at record %" PRIu64 ", which the journal does not hold (segment %" PRIu64
		      ", byte %" PRIu64 ")",
		      what, at->seq, at->segment, at->record_offset);
	return OK;
}

/* Tables -------------------------------------------------------------------------------------------------- */

/* Rows of late tables that are behind the others contradict them: then pages and checksums alone are checked. */
static enum err audit_rows(struct verifying *v, struct view *view, const struct standing *standing,
                           struct faults *part)
{
	if (standing->late.seq == standing->at.seq)
		return audit_tables(view, &v->report->audit, part, v->order->progress);
	return walk_tables(view, part, v->order->progress);
}

/* `at` becomes the tables' position. Errors: also ERR_UNSUPPORTED: a version that is not known, which has been reported. */
static enum err audit_view(struct verifying *v, struct view *view, struct standing *standing,
                           const char *name)
{
	struct faults *part = calloc(1, sizeof *part);
	char           why[VERSION_TEXT];
	enum err       err = part ? db_reader_begin(view) : ERR_NO_MEMORY;
	if (!err) {
		err = db_standing(view, standing);
		if (err == ERR_DAMAGED) fault(part, "its position cannot be read");
		if (err == ERR_UNSUPPORTED) {
			db_refusal(view, "data.mdb", why);
			fault(v->faults, "%s: %s", name, why);
		}
		if (!err || err == ERR_NOT_FOUND || err == ERR_DAMAGED)
			err = audit_rows(v, view, standing, part);
		db_reader_end(view);
		faults_add(v->faults, part, name);
	}
	free(part);
	return err;
}

/* Errors: also ERR_DAMAGED: the tables cannot be opened, which has been reported. */
static enum err audit_dir(struct verifying *v, int db_fd, struct standing *standing, const char *name)
{
	struct db   *db = NULL;
	struct view *view = NULL;
	struct arena arena = {0};
	*standing = (struct standing){.at = {0}};
	enum err err = db_open_still(db_fd, &db);
	if (!err) err = db_reader_open(db, &arena, &view);
	if (!err) err = audit_view(v, view, standing, name);
	db_reader_close(&view);
	db_close(&db);
	arena_free(&arena);
	if (err == ERR_DAMAGED) fault(v->faults, "%s: data.mdb cannot be opened", name);
	return err;
}

/* Snapshots ----------------------------------------------------------------------------------------------- */

static bool same_place(const struct applied *a, const struct applied *b)
{
	return a->seq == b->seq && a->chain == b->chain && a->epoch == b->epoch;
}

static enum err verify_snapshot(struct verifying *v, const struct snapshot *snapshot)
{
	char            number[SNAPSHOT_NAME], path[64], name[64];
	struct standing standing;
	enum err        err;
	begin_part(v, "snapshot", snapshot->at.seq);
	snapshot_name(snapshot->at.seq, number);
	snprintf(path, sizeof path, "snapshots/%s", number);
	snprintf(name, sizeof name, "snapshot %" PRIu64, snapshot->at.seq);
	if ((err = verify_joined(v, &snapshot->at, name))) return err;
	err = snapshot_check(v->order->shard_dir->dir_fd, snapshot, v->order->progress);
	if (err == ERR_DAMAGED) {
		fault(v->faults, "%s: data.mdb is missing, or not the bytes that its manifest tells", name);
		return OK;
	}
	int fd = err ? -1 : openat(v->order->shard_dir->dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) return err ? err : ERR_IO;
	err = audit_dir(v, fd, &standing, name);
	close(fd);
	if (!err && (!same_place(&standing.at, &snapshot->at) || !same_place(&standing.late, &snapshot->at)))
		fault(v->faults, "%s: its tables stand at record %" PRIu64, name, standing.late.seq);
	return err == ERR_DAMAGED ? OK : err;
}

/* The oldest first, so that the report's audit is of the newest. */
static enum err verify_snapshots(struct verifying *v)
{
	enum err err = OK;
	for (unsigned i = v->snapshot_count; !err && i-- > 0;) {
		err = verify_snapshot(v, &v->snapshots[i]);
		step_done(v, 3 * v->snapshots[i].bytes);
	}
	v->report->snapshots = v->snapshot_count;
	if (v->snapshot_count && v->report->seq < v->snapshots[0].at.seq)
		v->report->seq = v->snapshots[0].at.seq;
	if (!v->snapshot_count && v->begun && v->begin.seq)
		fault(v->faults,
		      "journal: begins with record %" PRIu64 ", and there is no snapshot of what was before",
		      v->begin.seq + 1);
	return err;
}

/* Only a finished directory without a manifest is damage: unfinished ones are removed automatically. */
static enum err list_snapshots(struct verifying *v)
{
	unsigned broken = 0;
	char     why[VERSION_TEXT];
	v->snapshot_count = SNAPSHOTS_MAX;
	enum err err = snapshot_list(v->order->shard_dir->dir_fd, &v->dir, v->snapshots, &v->snapshot_count,
	                             &broken);
	if (err == ERR_UNSUPPORTED) {
		snapshot_refusal(v->order->shard_dir->dir_fd, v->snapshots, why);
		fault(v->faults, "%s", why);
	}
	if (broken) fault(v->faults, "snapshots: %u without a manifest that can be read", broken);
	return err;
}

/* The place's own tables ---------------------------------------------------------------------------------- */

/* A clean marker of this very file with a wrong checksum means that one of the two is damaged. A marker of another
 * boot or file proves nothing. */
static enum err judge_mark(struct verifying *v)
{
	struct buffer text = {0};
	struct stat   st;
	char          file[64], sum[16];
	int           shard_fd = v->order->shard_dir->dir_fd;
	enum err      err = file_load(shard_fd, "trust", MARK_BYTES_MAX, &text);
	buffer_byte(&text, 0);
	if (err || text.failed || text.size == 1) goto out;
	char *crc = strstr((char *)text.at, " crc=");
	snprintf(sum, sizeof sum, " crc=%08" PRIx32,
	         crc ? crc32c(0, text.at, (size_t)(crc - (char *)text.at)) : 0);
	if (!crc || strncmp(crc, sum, strlen(sum))) {
		fault(v->faults, "trust: the mark is damaged");
		goto out;
	}
	if (fstatat(shard_fd, "db/data.mdb", &st, 0)) goto out;
	snprintf(file, sizeof file, " device=%ju inode=%ju ", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	if (strstr((char *)text.at, " state=clean ") && strstr((char *)text.at, file))
		fault(v->faults, "tables: db/data.mdb is not what a clean stop has left");
out:
	if (text.failed) err = ERR_NO_MEMORY;
	buffer_free(&text);
	return err == ERR_NOT_FOUND || err == ERR_DAMAGED ? OK : err;
}

/* Untrusted tables still prove how far the journal must reach. */
static enum err judge_floor(struct verifying *v)
{
	uint64_t floor_seq;
	enum err err = shard_dir_find_floor(v->order->shard_dir->dir_fd, &floor_seq);
	if (!err && floor_seq > v->report->seq)
		fault(v->faults,
		      "journal: ends with record %" PRIu64 ", but db/ proves that record %" PRIu64
		      " had been acknowledged",
		      v->report->seq, floor_seq);
	return err;
}

static enum err verify_tables(struct verifying *v)
{
	struct standing standing;
	bool            present;
	char            why[VERSION_TEXT];
	enum clean_mark clean_mark;
	enum err        err = clean_mark_read(v->order->shard_dir->dir_fd, &present, &clean_mark);
	if (err == ERR_UNSUPPORTED) {
		clean_mark_refusal(v->order->shard_dir->dir_fd, why);
		fault(v->faults, "%s", why);
		return OK;
	}
	if (err || !present) return err;
	if (clean_mark == CLEAN_MARK_NONE) return (err = judge_floor(v)) ? err : judge_mark(v);
	int fd = openat(v->order->shard_dir->dir_fd, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) return ERR_IO;
	err = audit_dir(v, fd, &standing, "tables");
	close(fd);
	v->report->tables = !err;
	if (err) return err == ERR_DAMAGED ? OK : err;
	if ((err = verify_joined(v, &standing.at, "tables"))) return err;
	return verify_joined(v, &standing.late, "tables");
}

/* All of it ----------------------------------------------------------------------------------------------- */

static void plan(struct verifying *v)
{
	struct stat st;
	uint64_t    total = v->report->segments * v->order->shard_dir->segment_bytes;
	if (!v->order->progress) return;
	v->planned = atomic_load(&v->order->progress->done);
	for (unsigned i = 0; i < v->snapshot_count; i++)
		total += 3 * v->snapshots[i].bytes;
	if (!v->order->served && !fstatat(v->order->shard_dir->dir_fd, "db/data.mdb", &st, 0))
		total += 2 * (uint64_t)st.st_size;
	atomic_store(&v->order->progress->total, v->planned + total);
}

/* An empty directory is right only if it has never had data. */
static void judge_presence(struct verifying *v)
{
	const struct shard_dir *shard_dir = v->order->shard_dir;
	if (v->last || (shard_dir->may_format && !v->snapshot_count) ||
	    (shard_dir->restored && v->snapshot_count))
		return;
	fault(v->faults, v->snapshot_count ? "journal: missing" : "journal and snapshots: missing");
}

/* A directory that no start would accept is not read. */
static bool has_shape(const struct verifying *v, enum err *err)
{
	struct store_report found = {.rebuilt = false};
	*err = v->order->served ? OK : shape_judge(v->order->shard_dir->dir_fd, &found);
	if (*err != ERR_UNSUPPORTED && *err != ERR_IO) return !*err;
	fault(v->faults, "%s", found.what);
	*err = OK;
	return false;
}

enum err verify_shard(const struct verify_order *order, struct verify_report *report)
{
	struct verifying v = {.order = order, .report = report, .faults = &report->faults};
	enum err         err;
	*report = (struct verify_report){.seq = 0};
	begin_part(&v, "journal", 0);
	errno = 0;
	if (!has_shape(&v, &err)) return err;
	v.dir = (struct journal_dir){
	    .fd = openat(order->shard_dir->dir_fd, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    .shard = order->shard_dir->shard,
	    .segment_bytes = order->shard_dir->segment_bytes};
	memcpy(v.dir.lineage, order->shard_dir->lineage, sizeof v.dir.lineage);
	err = v.dir.fd < 0 && errno != ENOENT ? ERR_IO : list_snapshots(&v);
	if (!err && v.dir.fd >= 0) err = list_segments(&v);
	if (err) goto out;
	judge_presence(&v);
	plan(&v);
	if ((err = verify_journal(&v))) goto out;
	step_done(&v, report->segments * order->shard_dir->segment_bytes);
	if ((err = verify_snapshots(&v))) goto out;
	begin_part(&v, "tables", 0);
	if (!order->served) err = verify_tables(&v);
out:
	if (err == ERR_IO) { /* a fault too, and it ends the check */
		fault(v.faults, "%s: cannot be read: %s", v.part, errno ? strerror(errno) : err_message(err));
		err = OK;
	}
	if (err == ERR_UNSUPPORTED) err = OK; /* a version that is not known is a fault, and ends the check */
	scan_end(&v.scan);
	arena_free(&v.arena);
	if (v.dir.fd >= 0) close(v.dir.fd);
	return err;
}
