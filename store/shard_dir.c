/* The state of a shard's directory, and the rebuild of tables beside old ones. */
#include "store/shard_dir.h"

#include "store/file.h"
#include "store/clean_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <unistd.h>

#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xff534d42
#endif

static const char tables[] = "db", unfinished[] = "db.new", replaced[] = "db.old";
enum { SNAPSHOTS_LOOKED_AT = 8, FLOOR_PIECE = 1 << 20 };

static enum err refuse(struct store_report *report, unsigned shard, const char *what)
{
	snprintf(report->what, sizeof report->what, "shard %u: %s", shard, what);
	return ERR_DAMAGED;
}

/* File systems on which a sync may do nothing, two machines may write, or files have no second names, are refused or
 * reported. */
static enum err judge_file_system(int shard_fd, struct store_report *report)
{
	static const struct {
		uint32_t    magic;
		const char *name;
		bool        refused;
	} kinds[] = {
	    {NFS_SUPER_MAGIC, "nfs", true},
	    {CIFS_SUPER_MAGIC, "cifs", true},
	    {SMB_SUPER_MAGIC, "smb", true},
	    {0xfe534d42, "smb", true},
	    {OVERLAYFS_SUPER_MAGIC, "overlay", true},
	    {V9FS_MAGIC, "9p", true},
	    {MSDOS_SUPER_MAGIC, "fat", true},
	    {EXFAT_SUPER_MAGIC, "exfat", true},
	    {FUSE_SUPER_MAGIC, "fuse", false},
	    {BTRFS_SUPER_MAGIC, "btrfs", false},
	    {TMPFS_MAGIC, "tmpfs", false},
	    {RAMFS_MAGIC, "ramfs", false},
	    {0x2fc12fc1, "zfs", false},
	};
	struct statfs disk;
	if (fstatfs(shard_fd, &disk)) return ERR_IO;
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if ((uint32_t)disk.f_type != kinds[i].magic) continue;
		snprintf(report->file_system, sizeof report->file_system, "%s", kinds[i].name);
		if (!kinds[i].refused) return OK;
		snprintf(report->what, sizeof report->what,
		         "the data directory is on %s: use a local ext4 or xfs", kinds[i].name);
		return ERR_UNSUPPORTED;
	}
	return OK;
}

struct found {
	bool            present; /* tables */
	enum clean_mark clean_mark;
	uint64_t        first, last; /* segments */
	struct snapshot snapshots[SNAPSHOTS_LOOKED_AT];
	unsigned        snapshot_count, broken;
};

static enum err look(const struct shard_dir *shard_dir, const struct journal_dir *dir,
                     struct store_report *report, struct found *found)
{
	enum err err = clean_mark_read(shard_dir->dir_fd, &found->present, &found->clean_mark);
	if (err == ERR_UNSUPPORTED) clean_mark_refusal(shard_dir->dir_fd, report->what);
	if (err) return err;
	if ((err = segment_range(dir, &found->first, &found->last)))
		return err == ERR_DAMAGED ? refuse(report, shard_dir->shard, "a journal segment is missing")
		                          : err;
	/* A program of another version has written the oldest or the newest ones. */
	if ((err = segment_judge_version(dir, found->first, report->what)) ||
	    (err = segment_judge_version(dir, found->last, report->what)))
		return err;
	found->snapshot_count = SNAPSHOTS_LOOKED_AT;
	err = snapshot_list(shard_dir->dir_fd, dir, found->snapshots, &found->snapshot_count, &found->broken);
	if (err == ERR_UNSUPPORTED) snapshot_refusal(shard_dir->dir_fd, found->snapshots, report->what);
	return err;
}

/* Does the journal reach back to the snapshot? */
static bool is_joined(const struct found *found, const struct snapshot *snapshot)
{
	uint64_t segment = snapshot->at.segment;
	if (segment == 0) return found->first <= 1;
	return segment >= found->first && segment <= found->last;
}

/* By the manifests, is there a source to rebuild the tables from? */
static enum err judge_sources(const struct shard_dir *shard_dir, const struct found *found,
                              struct store_report *report)
{
	unsigned joined = 0;
	for (unsigned i = 0; i < found->snapshot_count; i++)
		joined += is_joined(found, &found->snapshots[i]);
	bool nothing = !found->last && !found->snapshot_count && !found->broken;
	if (shard_dir->restored && !joined)
		return refuse(report, shard_dir->shard, "the restored snapshot is missing");
	if (nothing && !shard_dir->may_format) return refuse(report, shard_dir->shard, "no journal");
	if (!found->last && !nothing && !shard_dir->restored)
		return refuse(report, shard_dir->shard, "no journal");
	if (found->first > 1 && !joined)
		return refuse(report, shard_dir->shard,
		              "the journal's first segments are missing, and no snapshot replaces them");
	return OK;
}

/* The newest snapshot that is whole; without one, the journal from its beginning. */
static enum err choose_source(const struct shard_dir *shard_dir, const struct found *found,
                              struct store_report *report, struct snapshot *from)
{
	*from = (struct snapshot){.made = {0}};
	for (unsigned i = 0; i < found->snapshot_count; i++) {
		if (!is_joined(found, &found->snapshots[i])) continue;
		enum err err = snapshot_check(shard_dir->dir_fd, &found->snapshots[i], NULL);
		if (!err) *from = found->snapshots[i];
		if (err != ERR_DAMAGED && err != ERR_IO) return err;
		report->snapshots_refused++;
	}
	if (found->first <= 1 && !shard_dir->restored) return OK;
	return refuse(report, shard_dir->shard,
	              "the snapshots are damaged, and the journal does not begin with the first segment");
}

/* Untrusted tables still prove which records were acknowledged: a row with their applied position may be in any
 * page, and its lineage and checksum prove it. LMDB is not used. */
enum err shard_dir_find_floor(const struct shard_dir *shard_dir, uint64_t *floor_seq)
{
	uint8_t *page = malloc(FLOOR_PIECE);
	int      fd = openat(shard_dir->dir_fd, "db/data.mdb", O_RDONLY | O_CLOEXEC);
	ssize_t  n = 1;
	*floor_seq = 0;
	if (fd >= 0 && page) {
		for (off_t at = 0; n > 0; at += n) {
			n = pread(fd, page, FLOOR_PIECE, at);
			uint64_t seq = n > 0 ? db_newest_applied(span_of(page, (size_t)n), shard_dir->lineage)
			                     : 0;
			if (seq > *floor_seq) *floor_seq = seq;
		}
	}
	if (fd >= 0) close(fd);
	free(page);
	if (!page) return ERR_NO_MEMORY;
	if (n < 0) return OK; /* unreadable pages prove nothing */
	return fd < 0 && errno != ENOENT ? ERR_IO : OK;
}

enum err shard_dir_judge(const struct shard_dir *shard_dir, const struct journal_dir *dir,
                         struct store_report *report, struct table_plan *plan)
{
	struct found found = {.present = false};
	enum err     err = judge_file_system(shard_dir->dir_fd, report);
	*plan = (struct table_plan){.distrusted = plan->distrusted};
	if (!err) err = judge_file_system(dir->fd, report); /* it may lie elsewhere */
	if (err || (err = look(shard_dir, dir, report, &found))) return err;
	if ((err = judge_sources(shard_dir, &found, report))) return err;
	if (plan->distrusted) found.clean_mark = CLEAN_MARK_NONE;
	report->clean_mark = found.clean_mark;
	report->formatted = !found.last && !found.present && !found.snapshot_count;
	plan->rebuild = found.clean_mark == CLEAN_MARK_NONE;
	report->rebuilt = plan->rebuild && !report->formatted;
	uint64_t newest = found.snapshot_count ? found.snapshots[0].at.seq : 0;
	if (plan->rebuild && found.present && (err = shard_dir_find_floor(shard_dir, &plan->floor_seq)))
		return err;
	if (plan->floor_seq < newest) plan->floor_seq = newest;
	if (!plan->rebuild) return OK;
	return choose_source(shard_dir, &found, report, &plan->from);
}

static enum err copy_snapshot(int shard_fd, const struct snapshot *from, int db_fd)
{
	char name[SNAPSHOT_NAME], path[64];
	snapshot_name(from->at.seq, name);
	snprintf(path, sizeof path, "snapshots/%s/data.mdb", name);
	int      to = -1, source = openat(shard_fd, path, O_RDONLY | O_CLOEXEC);
	enum err err = source < 0 ? ERR_IO : OK;
	if (!err) to = openat(db_fd, "data.mdb", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (!err && to < 0) err = ERR_IO;
	if (!err) err = file_copy(source, to, NULL);
	if (to >= 0) close(to);
	if (source >= 0) close(source);
	return err;
}

enum err shard_dir_open_tables(int shard_fd, const struct table_plan *plan, int *db_fd)
{
	enum err err;
	if (!plan->rebuild) return file_open_dir(shard_fd, tables, db_fd);
	if ((err = file_remove_dir(shard_fd, unfinished))) return err;
	if ((err = file_open_dir(shard_fd, unfinished, db_fd))) return err;
	return plan->from.at.seq ? copy_snapshot(shard_fd, &plan->from, *db_fd) : OK;
}

enum err shard_dir_open_journal(const struct shard_dir *shard_dir, struct store_report *report, int *fd)
{
	if (shard_dir->may_format || shard_dir->restored)
		return file_open_dir(shard_dir->dir_fd, "journal", fd);
	*fd = openat(shard_dir->dir_fd, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd >= 0) return OK;
	return errno == ENOENT ? refuse(report, shard_dir->shard, "no journal") : ERR_IO;
}

void shard_dir_forget_tables(int shard_fd, bool refused)
{
	(void)!file_remove_dir(shard_fd, unfinished);
	if (!refused) (void)!file_remove_dir(shard_fd, replaced);
}

/* After a kill between any two of these steps, the next start finds tables without a matching marker and rebuilds
 * them again. */
enum err shard_dir_adopt_tables(int shard_fd)
{
	enum err err = file_remove_dir(shard_fd, replaced);
	if (err) return err;
	if (renameat(shard_fd, tables, shard_fd, replaced) && errno != ENOENT) return ERR_IO;
	if (renameat(shard_fd, unfinished, shard_fd, tables) || (err = file_sync_dir(shard_fd)))
		return ERR_IO;
	if ((err = clean_mark_write(shard_fd, false))) return err;
	return file_remove_dir(shard_fd, replaced);
}
