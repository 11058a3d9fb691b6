/* The types of a directory's entries. The tables' directories are renamed and removed as a whole, so each must be a
 * directory of files in the shard's directory itself, neither a link nor a mount. Journal and snapshots may lie
 * elsewhere, behind a link. */
#include "store/shape.h"

#include "schemas/entry.h"
#include "store/file.h"
#include "store/segment.h"
#include "store/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(((struct store_report *)NULL)->what) >= ENTRY_TEXT, "the report takes each sentence");

enum { SHAPE_PATH = 320 };

struct entry {
	const char     *name;
	enum entry_type type;
	enum entry_use  use;
	bool (*is_ours)(const char *name); /* which of its own entries are judged; NULL: none */
	enum entry_type inside;            /* the type of each of them */
	bool            tables;            /* neither a link nor a mount */
};

static enum err judge_inside(int shard_fd, const struct entry *entry, struct store_report *report);

static enum err fail(struct store_report *report, const char *name)
{
	snprintf(report->what, sizeof report->what, "%.80s cannot be read: %m", name);
	return ERR_IO;
}

static enum err refuse(struct store_report *report, const char *name, const char *is)
{
	snprintf(report->what, sizeof report->what, "%.80s is %s", name, is);
	return ERR_UNSUPPORTED;
}

static enum err judge_tables(int shard_fd, const char *name, struct store_report *report)
{
	struct statx st;
	if (statx(shard_fd, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st))
		return errno == ENOENT ? OK : fail(report, name);
	if (S_ISLNK(st.stx_mode)) return refuse(report, name, "a link: link the shard's directory instead");
	if (st.stx_attributes_mask & st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return refuse(report, name, "a mount: mount the shard's directory instead");
	return OK;
}

static enum err judge(int shard_fd, const struct entry *entry, struct store_report *report)
{
	struct stat st;
	enum err    err = entry->tables ? judge_tables(shard_fd, entry->name, report) : OK;
	if (err) return err;
	if (fstatat(shard_fd, entry->name, &st, 0)) {
		if (errno != ENOENT) return fail(report, entry->name);
		if (fstatat(shard_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW)) return OK; /* missing */
		st.st_mode = 0;
	}
	if (!entry_fits(entry->name, st.st_mode, entry->type, entry->use, report->what))
		return ERR_UNSUPPORTED;
	if (faccessat(shard_fd, entry->name, R_OK, AT_EACCESS)) return fail(report, entry->name);
	return entry->is_ours ? judge_inside(shard_fd, entry, report) : OK;
}

/* Entries */

static bool is_any(const char *name)
{
	return strcmp(name, ".") && strcmp(name, "..");
}

static bool is_of_journal(const char *name)
{
	uint64_t number;
	return segment_number_read(name, &number) || !strcmp(name, "next.tmp");
}

static enum err judge_inside(int shard_fd, const struct entry *entry, struct store_report *report)
{
	char           path[SHAPE_PATH];
	struct entry   one = {.name = path, .type = entry->inside, .use = entry->use, .inside = ENTRY_FILE};
	struct dirent *next;
	enum err       err = OK;
	DIR           *list;
	if (entry->inside == ENTRY_DIRECTORY) one.is_ours = is_any;
	if (file_list(shard_fd, entry->name, &list)) return fail(report, entry->name);
	while (!err && (next = readdir(list))) {
		if (!entry->is_ours(next->d_name)) continue;
		snprintf(path, sizeof path, "%.60s/%s", entry->name, next->d_name);
		err = judge(shard_fd, &one, report);
	}
	closedir(list);
	return err;
}

enum err shape_judge(int shard_fd, struct store_report *report)
{
	static const struct entry entries[] = {
	    {"journal", ENTRY_DIRECTORY, ENTRY_DATA, is_of_journal, ENTRY_FILE, false},
	    {"snapshots", ENTRY_DIRECTORY, ENTRY_DATA, snapshot_is_name, ENTRY_DIRECTORY, false},
	    {"db", ENTRY_DIRECTORY, ENTRY_EXPENDABLE, is_any, ENTRY_FILE, true},
	    {"db.new", ENTRY_DIRECTORY, ENTRY_EXPENDABLE, is_any, ENTRY_FILE, true},
	    {"db.old", ENTRY_DIRECTORY, ENTRY_EXPENDABLE, is_any, ENTRY_FILE, true},
	    {"trust", ENTRY_FILE, ENTRY_EXPENDABLE, NULL, ENTRY_FILE, false},
	};
	enum err err = OK;
	for (size_t i = 0; !err && i < sizeof entries / sizeof *entries; i++)
		err = judge(shard_fd, &entries[i], report);
	return err;
}
