/* The snapshots of a directory: listing, verifying, and removing those no longer needed. */
#include "store/snapshot.h"

#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char all[] = "snapshots";

static bool is_digits(const char *name)
{
	return strlen(name) == 20 && strspn(name, "0123456789") == 20;
}

bool snapshot_is_name(const char *name)
{
	return is_digits(name) || !strcmp(name, "new");
}

/* Reads the manifest alone; its name must agree too. ERR_NOT_FOUND: a removal was interrupted, and the next one
 * completes it. */
static enum err read_one(int all_fd, const char *name, const struct journal_dir *dir,
                         struct snapshot *snapshot)
{
	struct buffer text = {0};
	char          path[SNAPSHOT_NAME + 16], own[SNAPSHOT_NAME];
	snprintf(path, sizeof path, "%.20s/manifest", name);
	enum err err = file_load(all_fd, path, MANIFEST_BYTES_MAX, &text);
	if (!err) err = snapshot_manifest_read(buffer_span(&text), snapshot);
	buffer_free(&text);
	if (err) return err;
	snapshot_name(snapshot->at.seq, own);
	bool ours = snapshot->shard == dir->shard &&
	            !memcmp(snapshot->lineage, dir->lineage, sizeof dir->lineage);
	return ours && !strcmp(own, name) ? OK : ERR_DAMAGED;
}

/* Entries of snapshots/ that are in no list. */
struct rest {
	unsigned broken; /* including unreadable ones */
	unsigned unread_count;
	char     unread[8][SNAPSHOT_NAME]; /* may become readable again */
};

static enum err note_rest(struct rest *rest, const char *name, enum err err)
{
	const unsigned max = sizeof rest->unread / sizeof *rest->unread;
	rest->broken++;
	if (err != ERR_IO) return OK;
	if (rest->unread_count == max) return ERR_IO;
	snprintf(rest->unread[rest->unread_count++], SNAPSHOT_NAME, "%.20s", name);
	return OK;
}

/* Keeps the list sorted, newest first, and no longer than `max`. */
static void insert(struct snapshot *list, unsigned *count, unsigned max, const struct snapshot *snapshot)
{
	unsigned at = *count;
	while (at > 0 && list[at - 1].at.seq < snapshot->at.seq)
		at--;
	if (at >= max) return;
	unsigned moved = (*count < max ? *count : max - 1) - at;
	memmove(&list[at + 1], &list[at], moved * sizeof *list);
	list[at] = *snapshot;
	if (*count < max) ++*count;
}

static enum err list_in(int all_fd, const struct journal_dir *dir, struct snapshot *list, unsigned *count,
                        struct rest *rest)
{
	struct dirent  *entry;
	struct snapshot one;
	enum err        err = OK;
	unsigned        max = *count;
	DIR            *names;
	*count = 0;
	*rest = (struct rest){.broken = 0};
	if (file_list(all_fd, ".", &names)) return ERR_IO;
	while (!err && (entry = readdir(names))) {
		if (!is_digits(entry->d_name)) continue;
		err = read_one(all_fd, entry->d_name, dir, &one);
		if (!err) insert(list, count, max, &one);
		if (err == ERR_UNSUPPORTED) {
			*count = 0;
			list[0] = (struct snapshot){.at = {.seq = strtoull(entry->d_name, NULL, 10)}};
		}
		/* An unreadable one counts as damaged: another one, or the journal, replaces it. */
		if (err == ERR_DAMAGED || err == ERR_IO)
			err = note_rest(rest, entry->d_name, err);
		else if (err == ERR_NOT_FOUND)
			err = OK;
	}
	closedir(names);
	return err;
}

enum err snapshot_list(int shard_fd, const struct journal_dir *dir, struct snapshot *list, unsigned *count,
                       unsigned *broken)
{
	struct rest rest = {.broken = 0};
	int         fd = openat(shard_fd, all, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (broken) *broken = 0;
	if (fd < 0) {
		*count = 0;
		return errno == ENOENT ? OK : ERR_IO;
	}
	enum err err = list_in(fd, dir, list, count, &rest);
	if (broken) *broken = rest.broken;
	close(fd);
	return err;
}

void snapshot_refusal(int shard_fd, const struct snapshot *snapshot, char why[VERSION_TEXT])
{
	struct buffer text = {0};
	char          name[SNAPSHOT_NAME], path[64];
	snapshot_name(snapshot->at.seq, name);
	snprintf(path, sizeof path, "%s/%s/manifest", all, name);
	if (file_load(shard_fd, path, MANIFEST_BYTES_MAX, &text)) buffer_clear(&text);
	snapshot_manifest_refusal(buffer_span(&text), VERSION_OF_DATA, path, why);
	buffer_free(&text);
}

enum err snapshot_open_dir(int shard_fd, const struct snapshot *snapshot, int *fd)
{
	char name[SNAPSHOT_NAME], path[48];
	snapshot_name(snapshot->at.seq, name);
	snprintf(path, sizeof path, "%s/%s", all, name);
	*fd = openat(shard_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd >= 0) return OK;
	return errno == ENOENT || errno == ENOTDIR ? ERR_DAMAGED : ERR_IO;
}

enum err snapshot_check(int shard_fd, const struct snapshot *snapshot, struct progress *progress)
{
	struct stat st;
	uint8_t     sha256[32];
	int         dir_fd = -1, fd = -1;
	enum err    err = snapshot_open_dir(shard_fd, snapshot, &dir_fd);
	if (err) return err;
	fd = openat(dir_fd, "data.mdb", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		err = fd < 0 && errno == ENOENT ? ERR_DAMAGED : ERR_IO;
		goto out;
	}
	if ((uint64_t)st.st_size != snapshot->bytes) err = ERR_DAMAGED;
	if (!err && !(err = file_sha256(fd, sha256, progress)) &&
	    memcmp(sha256, snapshot->sha256, sizeof sha256))
		err = ERR_DAMAGED;
out:
	if (fd >= 0) close(fd);
	close(dir_fd);
	return err;
}

static bool is_kept(const char *name, const struct snapshot *list, unsigned count)
{
	char own[SNAPSHOT_NAME];
	for (unsigned i = 0; i < count; i++) {
		snapshot_name(list[i].at.seq, own);
		if (!strcmp(own, name)) return true;
	}
	return false;
}

/* Removes the manifest first, durably: without it the rest is no snapshot. */
static enum err remove_one(int all_fd, const char *name, struct progress *progress)
{
	int fd = openat(all_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) return ERR_IO;
	int      tables = openat(fd, "data.mdb", O_RDWR | O_CLOEXEC);
	enum err err = unlinkat(fd, "manifest", 0) && errno != ENOENT ? ERR_IO : file_sync_dir(fd);
	close(fd);
	if (!err) err = file_remove_dir(all_fd, name);
	if (!err && tables >= 0) file_release(tables, progress);
	if (tables >= 0) close(tables);
	return err;
}

enum err snapshot_remove(int shard_fd, const struct snapshot *snapshot, struct progress *progress)
{
	char name[SNAPSHOT_NAME];
	int  fd = openat(shard_fd, all, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) return ERR_IO;
	snapshot_name(snapshot->at.seq, name);
	enum err err = remove_one(fd, name, progress);
	close(fd);
	return err;
}

static bool is_unread(const char *name, const struct rest *rest)
{
	for (unsigned i = 0; i < rest->unread_count; i++)
		if (!strcmp(rest->unread[i], name)) return true;
	return false;
}

/* Entries to keep: those of the list, foreign ones, and those unreadable when the list was made. */
static bool stays(const char *name, const struct snapshot *list, unsigned count, const struct rest *rest)
{
	return !snapshot_is_name(name) || is_kept(name, list, count) || is_unread(name, rest);
}

static enum err prune_in(int all_fd, const struct snapshot *list, unsigned count, const struct rest *rest,
                         struct progress *progress)
{
	struct dirent *entry;
	enum err       err = OK;
	DIR           *names;
	if (file_list(all_fd, ".", &names)) return ERR_IO;
	while (!err && (entry = readdir(names)))
		if (!stays(entry->d_name, list, count, rest))
			err = remove_one(all_fd, entry->d_name, progress);
	closedir(names);
	return err ? err : file_sync_dir(all_fd);
}

enum err snapshot_prune(int shard_fd, const struct journal_dir *dir, unsigned keep, struct progress *progress)
{
	struct snapshot list[SNAPSHOTS_KEPT];
	unsigned        count = keep < SNAPSHOTS_KEPT ? keep : SNAPSHOTS_KEPT;
	int             fd = openat(shard_fd, all, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) return errno == ENOENT ? OK : ERR_IO;
	struct rest rest;
	enum err    err = list_in(fd, dir, list, &count, &rest);
	if (!err) err = prune_in(fd, list, count, &rest, progress);
	close(fd);
	return err;
}

static enum err export_file(int from_dir, int to_dir, const char *name, struct progress *progress)
{
	int      to = -1, from = openat(from_dir, name, O_RDONLY | O_CLOEXEC);
	enum err err = from < 0 ? ERR_IO : OK;
	if (!err && (to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
		err = ERR_IO;
	if (!err) err = file_copy(from, to, progress);
	if (!err && fsync(to)) err = ERR_IO;
	if (to >= 0) close(to);
	if (from >= 0) close(from);
	return err;
}

enum err snapshot_export(int shard_fd, const struct snapshot *snapshot, int to_fd, struct progress *progress)
{
	int      fd;
	enum err err = snapshot_open_dir(shard_fd, snapshot, &fd);
	if (err) return err;
	if (!(err = export_file(fd, to_fd, "data.mdb", progress)))
		err = export_file(fd, to_fd, "manifest", NULL);
	close(fd);
	return err ? err : file_sync_dir(to_fd);
}
