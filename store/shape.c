/* The kinds of a directory's entries. The tables' directories are renamed and removed as a whole, so each must be a
 * directory of files in the shard's directory itself, neither a link nor a mount. Journal and snapshots may lie
 * elsewhere, behind a link. */
#include "store/shape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { FILE_OR_LINK, DIRECTORY_OR_LINK, TABLES };

static enum err refuse(struct store_report *report, const char *name, const char *is)
{
	snprintf(report->what, sizeof report->what, "%.60s is %s", name, is);
	return ERR_UNSUPPORTED;
}

/* Only files, or links to files. */
static enum err judge_contents(int shard_fd, struct store_report *report, const char *name)
{
	char           path[128];
	struct dirent *entry;
	struct stat    st;
	enum err       err = OK;
	int            fd = openat(shard_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		if (fd >= 0) close(fd);
		return ERR_IO;
	}
	while (!err && (entry = readdir(list))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
		if (fstatat(fd, entry->d_name, &st, 0) || S_ISREG(st.st_mode)) continue;
		snprintf(path, sizeof path, "%s/%.40s", name, entry->d_name);
		err = refuse(report, path, "no file: take it away");
	}
	closedir(list);
	return err;
}

static bool is_mount(const struct statx *st)
{
	return st->stx_attributes_mask & st->stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

static enum err judge_tables(int shard_fd, struct store_report *report, const char *name)
{
	struct statx st;
	if (statx(shard_fd, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st)) return errno == ENOENT ? OK : ERR_IO;
	if (S_ISLNK(st.stx_mode)) return refuse(report, name, "a link: link the shard's directory instead");
	if (!S_ISDIR(st.stx_mode)) return refuse(report, name, "no directory");
	if (is_mount(&st)) return refuse(report, name, "a mount: mount the shard's directory instead");
	return judge_contents(shard_fd, report, name);
}

static enum err judge_entry(int shard_fd, struct store_report *report, const char *name, enum kind kind)
{
	struct stat st;
	if (kind == TABLES) return judge_tables(shard_fd, report, name);
	if (fstatat(shard_fd, name, &st, 0)) return errno == ENOENT ? OK : ERR_IO;
	if (kind == FILE_OR_LINK && !S_ISREG(st.st_mode)) return refuse(report, name, "no file");
	if (kind == DIRECTORY_OR_LINK && !S_ISDIR(st.st_mode)) return refuse(report, name, "no directory");
	return OK;
}

enum err shape_judge(int shard_fd, struct store_report *report)
{
	static const struct {
		const char *name;
		enum kind   kind;
	} entries[] = {{"journal", DIRECTORY_OR_LINK},
	               {"snapshots", DIRECTORY_OR_LINK},
	               {"db", TABLES},
	               {"db.new", TABLES},
	               {"db.old", TABLES},
	               {"trust", FILE_OR_LINK},
	               {"journal/next.tmp", FILE_OR_LINK}};
	enum err err = OK;
	for (size_t i = 0; !err && i < sizeof entries / sizeof *entries; i++) {
		err = judge_entry(shard_fd, report, entries[i].name, entries[i].kind);
		if (err == ERR_IO) snprintf(report->what, sizeof report->what, "%s: %m", entries[i].name);
	}
	return err;
}
