/* backup TO_DIR: copies a running service, each shard as of one of its records.
 *
 * The shards write their own files. This process makes the directories, adds the master key, and writes the manifest last: a
 * directory without one is no backup. After a failure or a signal, everything written is removed. */
#include "schemas/backup.h"
#include "actors/rt/datadir.h"
#include "actors/rt/time.h"
#include "ops/cli/interrupt.h"
#include "ops/cli/maintenance.h"
#include "ops/cli/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TO_PATH = 1024, TAKE_AGAIN_MS = 20, TAKES_MAX = 50 };

struct backing {
	struct cli    *cli;
	struct backup  backup;
	struct datadir datadir;
	char           to[TO_PATH]; /* absolute */
	int            to_fd;
	bool           made; /* this command made the directory */
	uint8_t        key[32];
};

/* The shards have their own working directories. */
static enum outcome make_absolute(struct backing *self, const char *to)
{
	char here[TO_PATH];
	int  size;

	if (*to == '/') {
		size = snprintf(self->to, sizeof self->to, "%s", to);
	} else {
		bool is_named = getcwd(here, sizeof here) != NULL;
		if (!is_named && errno != ERANGE) return cli_fail_at(self->cli, "Cannot name", to);
		size = !is_named ? -1 : snprintf(self->to, sizeof self->to, "%s/%s", here, to);
	}
	if (size < 0 || (size_t)size >= sizeof self->to)
		return cli_fail(self->cli, ERR_INVALID_INPUT, "The directory's name is too long.");
	return DONE;
}

/* Keeps other backups out of the directory until it is closed. One that failed meanwhile has perhaps removed it. A file system
 * without such locks is used without. */
static enum outcome lock_target(struct backing *self)
{
	struct stat named, opened;
	char        message[256];
	bool is_served = !faccessat(self->to_fd, "identity", F_OK, 0); /* a service locks it likewise */
	bool is_free = !flock(self->to_fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;

	if (is_free && !stat(self->to, &named) && !fstat(self->to_fd, &opened) &&
	    named.st_dev == opened.st_dev && named.st_ino == opened.st_ino)
		return DONE;
	snprintf(
	    message, sizeof message,
	    is_served
	        ? "The directory `%.150s` is a data directory in use: a backup wants a new or an empty one."
	        : "Another backup is being written to the directory `%.150s`.",
	    self->to);
	return cli_fail(self->cli, ERR_LOCKED, message);
}

/* Has it a backup's directories alone? The manifest is written last; `run` is one of a data directory. */
static bool is_begun(const struct backing *self)
{
	static const char *const others[] = {"manifest", "run", "identity", DATADIR_RESTORING};
	bool                     found = !faccessat(self->to_fd, "shards", F_OK, 0);

	for (size_t i = 0; found && i < sizeof others / sizeof *others; i++)
		found = faccessat(self->to_fd, others[i], F_OK, 0) != 0;
	return found;
}

static enum outcome check_empty(struct backing *self)
{
	char        message[256];
	const char *what = "is not empty: a backup wants a new or an empty one";

	if (datadir_is_empty(self->to_fd, ".")) return DONE;
	if (is_begun(self))
		what = "holds a backup that did not come to its end: remove it, or choose another one";
	snprintf(message, sizeof message, "The directory `%.150s` %s.", self->to, what);
	return cli_fail(self->cli, ERR_EXISTS, message);
}

static enum outcome open_target(struct backing *self, const char *to)
{
	enum outcome outcome = make_absolute(self, to);

	if (outcome != DONE) return outcome;
	self->made = mkdir(self->to, 0700) == 0;
	if (!self->made && errno != EEXIST) return cli_fail_at(self->cli, "Cannot make", self->to);
	self->to_fd = open(self->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self->to_fd < 0) return cli_fail_at(self->cli, "Cannot open", self->to);
	if ((outcome = lock_target(self)) == DONE) {
		if ((outcome = check_empty(self)) == DONE &&
		    (outcome = target_check_place(self->cli, self->to_fd, self->to)) == DONE)
			return DONE;
		if (self->made) (void)rmdir(self->to);
	}
	close(self->to_fd);
	self->to_fd = -1;
	return outcome;
}

static enum outcome make_directories(struct backing *self)
{
	char     path[DATADIR_PATH];
	enum err err = datadir_mkdir(self->to_fd, "shards");

	for (uint32_t i = 0; !err && i < self->backup.shards; i++) {
		datadir_shard_path(i, NULL, path);
		err = datadir_mkdir(self->to_fd, path);
	}
	return err ? cli_fail_at(self->cli, "Cannot write to", self->to) : DONE;
}

static void on_end(void *user, uint32_t shard, enum err err, const msgpack_object *state)
{
	struct backing       *self = user;
	struct backup_shard  *of = &self->backup.of[shard];
	const msgpack_object *sha256 = msgpack_member(state, "sha256");

	if (!err &&
	    (!sha256 || sha256->type != MSGPACK_OBJECT_BIN || sha256->via.bin.size != sizeof of->sha256))
		err = ERR_MALFORMED;
	if (err) {
		cli_job_failed(self->cli, shard, err, state);
		return;
	}
	of->seq = cli_number(state, "seq");
	of->epoch = cli_number(state, "made_epoch");
	of->bytes = cli_number(state, "bytes");
	memcpy(of->sha256, sha256->via.bin.ptr, sizeof of->sha256);
}

static enum outcome write_rest(struct backing *self)
{
	struct buffer text = {0};
	enum err      err = datadir_write(self->to_fd, "master.key", span_of(self->key, sizeof self->key));

	backup_write(&self->backup, &text);
	if (!err && text.failed) err = ERR_NO_MEMORY;
	if (!err) err = datadir_sync(self->to_fd, ".."); /* another command may have made it just now */
	if (!err) err = datadir_write(self->to_fd, "manifest", buffer_span(&text));
	buffer_free(&text);
	if (err == ERR_NO_MEMORY) return cli_fail(self->cli, err, NULL);
	return err ? cli_fail_at(self->cli, "Cannot write to", self->to) : DONE;
}

static void take_away_once(struct backing *self)
{
	static const char *const files[] = {"manifest", "manifest.new", "master.key", "master.key.new"};
	static const char *const of_shard[] = {"data.mdb", "manifest"};
	char                     path[DATADIR_PATH];

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		(void)unlinkat(self->to_fd, files[i], 0);
	for (uint32_t i = 0; i < self->backup.shards; i++) {
		for (size_t k = 0; k < sizeof of_shard / sizeof *of_shard; k++) {
			datadir_shard_path(i, of_shard[k], path);
			(void)unlinkat(self->to_fd, path, 0);
		}
		datadir_shard_path(i, NULL, path);
		(void)unlinkat(self->to_fd, path, AT_REMOVEDIR);
	}
	(void)unlinkat(self->to_fd, "shards", AT_REMOVEDIR);
}

/* A shard that still works on its part may make a file between two calls. */
static void take_away(struct backing *self)
{
	struct timespec pause = {.tv_nsec = TAKE_AGAIN_MS * 1000000L};

	take_away_once(self);
	for (unsigned i = 0; i < TAKES_MAX && !faccessat(self->to_fd, "shards", F_OK, 0); i++) {
		nanosleep(&pause, NULL);
		take_away_once(self);
	}
	if (self->made) (void)rmdir(self->to);
}

/* Writes the manifest's facts about the whole backup. */
static enum outcome describe(struct backing *self)
{
	struct stat owned;
	enum err    err = datadir_open(self->cli->data, &self->datadir);

	if (!err) err = datadir_master_key(&self->datadir, self->key);
	if (err)
		return cli_fail(self->cli, err,
		                err == ERR_OTHER_KEY || err == ERR_FOREIGN_KEY
		                    ? NULL
		                    : "The data directory's identity or master.key cannot be read.");
	if (fstat(self->datadir.fd, &owned)) return cli_fail_at(self->cli, "Cannot look at", self->cli->data);
	if (owned.st_uid != geteuid())
		return cli_fail(
		    self->cli, ERR_INVALID_INPUT,
		    "Only the user whom the data directory belongs to can make a backup: the shards "
		    "write it as that user.");
	memcpy(self->backup.lineage, self->datadir.identity.lineage, sizeof self->backup.lineage);
	self->backup.earlier = self->datadir.identity.earlier;
	self->backup.shards = service_shards(self->cli->service);
	self->backup.created = time_wall();
	master_key_id(self->key, self->backup.key_id);
	return DONE;
}

static enum outcome copy(struct backing *self)
{
	struct bar               bar;
	struct stat              st;
	char                     place[BACKUP_PLACE_TEXT];
	struct maintenance_order order = {
	    .what = "backup", .dir = self->to, .place = place, .bar = &bar, .on_end = on_end, .user = self};
	enum outcome outcome;

	if (fstat(self->to_fd, &st)) return cli_fail_at(self->cli, "Cannot look at", self->to);
	backup_place_text((uint64_t)st.st_dev, (uint64_t)st.st_ino, place);
	bar_begin(&bar, "backup");
	outcome = cli_maintain(self->cli, &order);
	bar_end(&bar);
	return outcome == DONE ? write_rest(self) : outcome;
}

enum outcome backup_alone(struct cli *cli)
{
	struct backing *self;
	const char     *to = args_word(&cli->args);
	enum outcome    outcome;

	if (!*to) snprintf(cli->args.why, sizeof cli->args.why, "TO_DIR is empty");
	if (!args_end(&cli->args) || !*to) return MISUSED;
	if (cli_open(cli) != DONE) return FAILED;
	interrupt_catch();
	if (!(self = calloc(1, sizeof *self))) return cli_fail(cli, ERR_NO_MEMORY, NULL);
	self->cli = cli;
	self->to_fd = self->datadir.fd = self->datadir.run_fd = -1;
	if ((outcome = describe(self)) == DONE && (outcome = open_target(self, to)) == DONE) {
		outcome = make_directories(self);
		if (outcome == DONE) outcome = copy(self);
		if (outcome != DONE) take_away(self);
	}
	if (outcome == DONE) buffer_text(&cli->out, "{}");
	if (self->to_fd >= 0) close(self->to_fd);
	datadir_close(&self->datadir);
	explicit_bzero(self->key, sizeof self->key);
	free(self);
	return outcome;
}
