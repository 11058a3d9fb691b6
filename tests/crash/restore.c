/* A directory that begins with a snapshot from elsewhere. It is copied while the recorder runs, and its rows
 * are added to the trace as if a record had written them; later records follow it. */
#include "tests/crash/contents.h"
#include "tests/crash/life.h"
#include "tests/crash/recorder.h"

#include "store/file.h"
#include "store/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void add_row(void *user, enum table table, struct span key, struct span value)
{
	record_add(user, &(struct write){.kind = WRITE_PUT, .table = table, .key = key, .value = value});
}

/* All rows of the snapshot, as a record's operations. */
static void mark_rows(int dir_fd, const struct snapshot *snapshot)
{
	struct db    *db = NULL;
	struct view  *reader = NULL;
	struct arena  arena = {0};
	struct buffer record = {0};
	must(!db_open_still(dir_fd, &db) && !db_reader_open(db, &arena, &reader) && !db_reader_begin(reader));
	record_begin(&record);
	must(!contents_each(reader, NULL, add_row, &record) && !record.failed);
	db_reader_end(reader);
	db_reader_close(&reader);
	db_close(&db);
	arena_free(&arena);
	recorder_mark_restored(snapshot->at.seq, snapshot->at.chain,
	                       span_of(record.at + RECORD_HEAD, record.size - RECORD_HEAD));
	buffer_free(&record);
}

static int open_dir(int parent, const char *path)
{
	int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

void life_restore(const char *from, const char *to, const struct setting *setting)
{
	struct journal_dir dir = {.shard = setting->shard};
	struct snapshot    snapshot;
	struct buffer      manifest = {0};
	char               name[SNAPSHOT_NAME];
	unsigned           count = 1;
	int                from_fd = open_dir(AT_FDCWD, from), to_fd = open_dir(AT_FDCWD, to), all_fd, one_fd;
	memcpy(dir.lineage, setting->lineage, sizeof dir.lineage);
	must(!snapshot_list(from_fd, &dir, &snapshot, &count, NULL) && count == 1);
	snapshot_name(snapshot.at.seq, name);
	must(!file_open_dir(to_fd, "snapshots", &all_fd) && !file_open_dir(all_fd, name, &one_fd));
	must(!snapshot_export(from_fd, &snapshot, one_fd, NULL));
	/* Its journal is not copied. */
	snapshot.at.segment = snapshot.at.offset = snapshot.at.record_offset = 0;
	snapshot_manifest_write(&snapshot, &manifest);
	must(!manifest.failed && !file_replace(one_fd, "manifest", buffer_span(&manifest)));
	buffer_free(&manifest);
	mark_rows(one_fd, &snapshot);
	close(one_fd);
	close(all_fd);
	close(to_fd);
	close(from_fd);
}
