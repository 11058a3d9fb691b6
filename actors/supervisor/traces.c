/* Undoes the creation of a data directory. If a shard's directory holds anything besides the locks, that is data: then the
 * identity stays, and everything else. */
#include "actors/supervisor/traces.h"
#include "actors/rt/datadir.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_missing(int dir_fd, const char *path)
{
	struct stat st;

	return fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0;
}

void traces_look(int dir_fd, struct traces *traces)
{
	char path[DATADIR_PATH];

	traces->looked = true;
	traces->identity = is_missing(dir_fd, "identity");
	traces->key = is_missing(dir_fd, "master.key");
	traces->run = is_missing(dir_fd, "run");
	traces->server = is_missing(dir_fd, "run/supervisor");
	traces->shards = is_missing(dir_fd, "shards");
	for (uint32_t i = 0; i < SHARDS_MAX; i++) {
		datadir_shard_path(i, NULL, path);
		traces->shard[i].dir = is_missing(dir_fd, path);
		datadir_shard_path(i, "lock", path);
		traces->shard[i].lock = is_missing(dir_fd, path);
		datadir_shard_path(i, "journal", path);
		traces->shard[i].journal = is_missing(dir_fd, path);
	}
}

/* A lock and a journal directory without a segment: what a shard creates before it changes anything. */
static bool empty_shards(int dir_fd, const struct traces *traces)
{
	char path[DATADIR_PATH];
	bool empty = true;

	for (uint32_t i = 0; i < SHARDS_MAX; i++) {
		datadir_shard_path(i, "journal", path);
		if (traces->shard[i].journal) (void)unlinkat(dir_fd, path, AT_REMOVEDIR);
		datadir_shard_path(i, "lock", path);
		if (traces->shard[i].lock) (void)unlinkat(dir_fd, path, 0);
		datadir_shard_path(i, NULL, path);
		if (traces->shard[i].dir) empty = datadir_is_empty(dir_fd, path) && empty;
	}
	return empty;
}

static void remove_made(int dir_fd, const struct traces *traces)
{
	char path[DATADIR_PATH];

	if (traces->identity) { /* first: without it, the directory counts as an interrupted creation */
		(void)unlinkat(dir_fd, "identity", 0);
		(void)unlinkat(dir_fd, "identity.new", 0);
	}
	for (uint32_t i = 0; i < SHARDS_MAX; i++) {
		datadir_shard_path(i, NULL, path);
		if (traces->shard[i].dir) (void)unlinkat(dir_fd, path, AT_REMOVEDIR);
	}
	if (traces->shards) (void)unlinkat(dir_fd, "shards", AT_REMOVEDIR);
	if (traces->server) (void)unlinkat(dir_fd, "run/supervisor", 0);
	if (traces->run) (void)unlinkat(dir_fd, "run", AT_REMOVEDIR);
	if (traces->key && traces->identity) {
		(void)unlinkat(dir_fd, "master.key", 0);
		(void)unlinkat(dir_fd, "master.key.new", 0);
	}
}

void traces_remove(int dir_fd, const struct traces *traces)
{
	if (traces->looked && empty_shards(dir_fd, traces)) remove_made(dir_fd, traces);
	if (traces->lock) (void)unlinkat(dir_fd, "lock", 0);
}
