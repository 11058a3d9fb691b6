/* Makes a snapshot while the tables keep changing.
 * A long read transaction would keep LMDB from reusing pages, and its file would grow by everything written meanwhile.
 * So the tables are copied in pieces, each from a view of its own moment. The copy as a whole then has no moment of its
 * own. It gets one by replaying the journal from the first piece's late position to the last piece's applied one. This
 * is sound because an operation states a row's new value, not a change of it: whichever state of a row was copied, the
 * operations lead to its state at the last moment. (Rows of a patched table are never deleted, so a patch finds its row.)
 *   copy ─▶ replay ─▶ sync ─▶ walk ─▶ hash ─▶ manifest ─▶ its name       on any failure the unfinished one is removed */
#include "store/snapshot.h"

#include "store/disk_monitor.h"
#include "store/db_inside.h"
#include "store/file.h"
#include "store/recover.h"
#include "store/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
	PIECE_BYTES = 128 << 10,    /* of rows, in one view */
	FREE_BYTES_LEFT = 48 << 20, /* a snapshot must leave this: above the hard floor */
	WRITE_BACK_BYTES = 4 << 20,
};
static const char unfinished[] = "new";

struct making {
	const struct snapshot_order *order;
	int                          all_fd, fd; /* snapshots/, and the directory being filled */
	struct db                   *copy;
	/* Up to where the first piece's view has the changes of every table, late ones too; the last piece's position. */
	struct applied first, last;
	bool           has_begun;
	uint64_t       unpushed;
};

/* Where the copy continues: behind the last key copied. */
struct place_in_table {
	uint8_t key[KEY_BYTES_MAX + 2];
	size_t  size;
	bool    done;
};

static enum err live_damage(struct making *making, enum table table, const char *what)
{
	fault(making->order->faults, "the live tables: %s of table %u", what, table);
	atomic_store(making->order->tables_damaged, true);
	return ERR_DAMAGED;
}

static enum err copy_rows(struct making *making, enum table table, struct place_in_table *at, uint64_t *bytes)
{
	struct raw_row row;
	struct span    behind = span_of(at->key, at->size);
	enum err       err = view_raw_from(making->order->reader, table, behind, &row);
	if (!err && at->size && span_equal(row.key, behind))
		err = view_raw_next(making->order->reader, table, &row);
	*bytes = 0;
	for (; !err && *bytes < PIECE_BYTES; err = view_raw_next(making->order->reader, table, &row)) {
		if (!raw_row_holds(table, &row) || row.key.size > sizeof at->key)
			return live_damage(making, table, "a damaged row");
		if (span_order(row.key, span_of(at->key, at->size)) <= 0)
			return live_damage(making, table, "a row out of its order");
		if (!db_is_position_row(table, &row) && (err = db_append_raw(making->copy, table, &row)))
			return err;
		memcpy(at->key, row.key.at, row.key.size);
		at->size = row.key.size;
		*bytes += row.key.size + row.stored.size;
	}
	if (err == ERR_DAMAGED) return live_damage(making, table, "a page that cannot be read");
	at->done = err == ERR_NOT_FOUND;
	return at->done ? OK : err;
}

#ifdef FAULT_LATE_SNAPSHOT_FIRST
#define BEGINS_AT db_applied /* the fault: what is in memory alone is missing in the copy */
#else
#define BEGINS_AT db_late
#endif

/* One piece: one view of the live tables, one transaction of the copy. */
static enum err copy_piece(struct making *making, enum table table, struct place_in_table *at,
                           uint64_t *bytes)
{
	struct view *reader = making->order->reader;
	enum err     err = db_reader_begin(reader);
	if (err) return err;
	if (!(err = db_applied(reader, &making->last)) && !making->has_begun)
		err = BEGINS_AT(reader, &making->first);
	making->has_begun = true;
	if (!err) err = copy_rows(making, table, at, bytes);
	db_reader_end(reader);
	if (err) return err;
	if ((err = db_commit(making->copy, &making->first))) return err;
	return db_begin(making->copy);
}

/* Keeps the pace, and pushes written data to the disk little by little. */
static enum err after_piece(struct making *making, uint64_t bytes)
{
	making->unpushed += bytes;
	if (making->unpushed >= WRITE_BACK_BYTES) {
		db_write_back(making->copy);
		making->unpushed = 0;
	}
	return progress_step(making->order->progress, bytes) ? OK : ERR_STOPPED;
}

static enum err copy_tables(struct making *making)
{
	uint64_t bytes;
	enum err err = db_begin(making->copy);
	for (unsigned i = 1; !err && i < TABLE_END; i++) {
		struct place_in_table at = {.done = !table_exists((enum table)i)};
		while (!err && !at.done)
			if (!(err = copy_piece(making, (enum table)i, &at, &bytes)))
				err = after_piece(making, bytes);
	}
	return err;
}

static uint64_t journal_between(const struct making *making)
{
	uint64_t segments = making->last.segment - making->first.segment;
	return segments * making->order->dir->segment_bytes + making->last.offset - making->first.offset;
}

static enum err fill(struct making *making)
{
	const struct snapshot_order *order = making->order;
	enum err err = db_open(making->fd, order->map_bytes, order->dir->lineage, &making->copy);
	if (err || (err = copy_tables(making))) return err;
	if (order->progress) atomic_fetch_add(&order->progress->total, journal_between(making));
	err = recover_catch_up(order->dir, making->copy, &making->first, &making->last, order->progress);
	if (err == ERR_DAMAGED)
		fault(order->faults, "the journal does not lead from record %llu to record %llu",
		      (unsigned long long)making->first.seq, (unsigned long long)making->last.seq);
	if (err) return err;
	if ((err = db_commit(making->copy, &making->last))) return err;
#ifdef FAULT_SNAPSHOT_UNSYNCED
	return OK; /* the fault: it counts before it is on the disk */
#endif
	return db_sync(making->copy);
}

static enum err walk_copy(struct making *making)
{
	struct db     *still = NULL;
	struct view   *view = NULL;
	struct arena   arena = {0};
	struct faults *faults = making->order->faults;
	enum err       err = db_open_still(making->fd, &still);
	if (err) return err;
	if (!(err = db_reader_open(still, &arena, &view)) && !(err = db_reader_begin(view))) {
		err = walk_tables(view, faults, making->order->progress);
		db_reader_end(view);
	}
	db_reader_close(&view);
	db_close(&still);
	arena_free(&arena);
	return !err && faults->count ? ERR_DAMAGED : err;
}

static enum err hash_copy(struct making *making, struct snapshot *made)
{
	struct stat st;
	int         fd = openat(making->fd, "data.mdb", O_RDONLY | O_CLOEXEC);
	if (fd < 0) return ERR_IO;
	enum err err = fstat(fd, &st) ? ERR_IO : file_sha256(fd, made->sha256, making->order->progress);
	made->bytes = err ? 0 : (uint64_t)st.st_size;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* memory is for the live tables */
	close(fd);
	return err;
}

static enum err publish(struct making *making, const struct snapshot *made)
{
	struct buffer text = {0};
	char          name[SNAPSHOT_NAME];
	snapshot_name(made->at.seq, name);
	snapshot_manifest_write(made, &text);
	enum err err = text.failed ? ERR_NO_MEMORY : file_replace(making->fd, "manifest", buffer_span(&text));
	buffer_free(&text);
	if (err) return err;
	/* A directory of that name is no valid snapshot, or this one would not have been made. */
	if ((err = file_remove_dir(making->all_fd, name))) return err;
	return renameat(making->all_fd, unfinished, making->all_fd, name) ? ERR_IO
	                                                                  : file_sync_dir(making->all_fd);
}

static enum err finish(struct making *making, struct snapshot *made)
{
	const struct snapshot_order *order = making->order;
	db_close(&making->copy);
	(void)!unlinkat(making->fd, "lock.mdb", 0); /* it will never be written again */
	*made = (struct snapshot){.at = making->last, .made = order->now, .shard = order->dir->shard};
	memcpy(made->lineage, order->dir->lineage, sizeof made->lineage);
	enum err err = walk_copy(making);
	if (!err) err = hash_copy(making, made);
	return err ? err : publish(making, made);
}

static enum err has_space(const struct snapshot_order *order)
{
	struct statvfs disk;
	enum err       err = db_reader_begin(order->reader);
	if (err) return err;
	uint64_t used = view_used_bytes(order->reader);
	db_reader_end(order->reader);
	if (order->progress) atomic_store(&order->progress->total, used * SNAPSHOT_PASSES);
	if (fstatvfs(order->shard_fd, &disk)) return ERR_IO;
	uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	/* A snapshot must not cause refusals. If commands are refused already, it helps: it frees journal. */
	uint64_t left = free_bytes < DISK_SOFT_FLOOR_BYTES ? FREE_BYTES_LEFT : DISK_SOFT_FLOOR_BYTES;
	return free_bytes < used + left ? ERR_STORAGE_FULL : OK;
}

enum err snapshot_make(const struct snapshot_order *order, struct snapshot *made)
{
	struct making making = {.order = order, .all_fd = -1, .fd = -1};
	enum err      err = file_open_dir(order->shard_fd, "snapshots", &making.all_fd);
	if (err || (err = file_remove_dir(making.all_fd, unfinished))) goto out; /* frees its space first */
	if ((err = has_space(order))) goto out;
	if ((err = file_open_dir(making.all_fd, unfinished, &making.fd))) goto out;
	if ((err = fill(&making))) goto out;
	err = finish(&making, made);
out:;
	int error = errno; /* of what failed first */
	db_close(&making.copy);
	if (making.fd >= 0) close(making.fd);
	if (err && making.all_fd >= 0 && file_remove_dir(making.all_fd, unfinished)) err = ERR_IO;
	if (making.all_fd >= 0) close(making.all_fd);
	errno = error;
	return err;
}
