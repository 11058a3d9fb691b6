/* What a shard finds on its disk, and how new tables come into being beside old ones. */
#include "store/place.h"

#include "store/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char tables[] = "db", unfinished[] = "db.new", replaced[] = "db.old";

static enum err refuse(struct store_report *report, unsigned shard, const char *what)
{
	snprintf(report->what, sizeof report->what, "shard %u: %s", shard, what);
	return ERR_DAMAGED;
}

enum err place_judge(const struct store_place *place, const struct journal_dir *dir,
                     struct store_report *report, bool *anew)
{
	bool     present, trusted;
	uint64_t first, last;
	enum err err = trust_read(place->dir_fd, &present, &trusted);
	if (err) return err;
	if ((err = segment_range(dir, &first, &last)))
		return err == ERR_DAMAGED ? refuse(report, place->shard, "a journal segment is missing")
		                          : err;
	report->formatted = !last && !present;
	report->rebuilt = !trusted && last;
	*anew = !trusted;
	if (!last && !place->may_format) return refuse(report, place->shard, "no journal");
	if (first > 1) return refuse(report, place->shard, "the journal's first segments are missing");
	return OK;
}

enum err place_open_dir(int parent, const char *name, int *fd)
{
	if (mkdirat(parent, name, 0700) && errno != EEXIST) return ERR_IO;
	*fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fd < 0 || fsync(parent) ? ERR_IO : OK;
}

static enum err remove_tables(int place_fd, const char *name)
{
	static const char *const files[] = {"data.mdb", "lock.mdb"};
	char                     path[32];
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s", name, files[i]);
		if (unlinkat(place_fd, path, 0) && errno != ENOENT) return ERR_IO;
	}
	return unlinkat(place_fd, name, AT_REMOVEDIR) && errno != ENOENT ? ERR_IO : OK;
}

enum err place_open_tables(int place_fd, bool anew, int *db_fd)
{
	enum err err;
	if (anew)
		return (err = remove_tables(place_fd, unfinished))
		           ? err
		           : place_open_dir(place_fd, unfinished, db_fd);
	return (err = place_open_dir(place_fd, tables, db_fd)) ? err : trust_write(place_fd, false);
}

/* Killed between any two of these, the next start finds tables without a mark of theirs, and begins again. */
enum err place_adopt_tables(int place_fd)
{
	enum err err = remove_tables(place_fd, replaced);
	if (err) return err;
	if (renameat(place_fd, tables, place_fd, replaced) && errno != ENOENT) return ERR_IO;
	if (renameat(place_fd, unfinished, place_fd, tables) || fsync(place_fd)) return ERR_IO;
	if ((err = trust_write(place_fd, false))) return err;
	return remove_tables(place_fd, replaced);
}
