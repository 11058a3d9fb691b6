/* restore --data DIR --from BACKUP_DIR: makes a data directory from a backup.
 *
 * The whole backup is read and compared with its manifest before anything is written. The new directory gets its own lineage,
 * so that nothing in it can be taken for the old directory's. Its identity is written last: until then it is no data
 * directory, cannot be served, and another restore may start over in it. */
#include "actors/rt/datadir.h"
#include "ops/cli/cli.h"
#include "ops/cli/offline.h"
#include "ops/cli/target.h"
#include "schemas/backup.h"
#include "schemas/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct restoring {
	struct cli     *cli;
	const char     *from;
	struct backup   backup;
	struct identity identity;
	char            lineage[33];
	uint8_t         key[32];
	int             from_fd, dir_fd, lock_fd;
	struct bar      bar;
	struct buffer   shards; /* each one's result, as JSON */
};

/* Backup --------------------------------------------------------------------------------------------------- */

static enum outcome read_manifest(struct restoring *self)
{
	struct buffer text = {0};
	char          why[VERSION_TEXT], message[VERSION_TEXT + 16];
	enum err      err;

	self->from_fd = open(self->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self->from_fd < 0) return cli_fail_at(self->cli, "Cannot open the backup", self->from);
	if (!datadir_entry_fits(self->from_fd, "manifest", ENTRY_FILE, ENTRY_DATA, why) ||
	    datadir_judge(self->from_fd, 0, why)) {
		snprintf(message, sizeof message, "The backup's %s.", why);
		return cli_fail(self->cli, ERR_UNSUPPORTED, message);
	}
	err = datadir_read(self->from_fd, "manifest", BACKUP_MANIFEST_BYTES_MAX, &text);
	if (!err) err = backup_read(buffer_span(&text), &self->backup);
	if (err == ERR_UNSUPPORTED) backup_refusal(buffer_span(&text), why);
	buffer_free(&text);
	switch (err) {
	case OK: return DONE;
	case ERR_NOT_FOUND:
		return cli_fail(self->cli, err,
		                "The backup's manifest is missing: it is none, or was not finished.");
	case ERR_DAMAGED: return cli_fail(self->cli, err, "The backup's manifest is damaged.");
	case ERR_UNSUPPORTED:
		snprintf(message, sizeof message, "%s.", why);
		return cli_fail(self->cli, err, message);
	default: return cli_fail(self->cli, err, "The backup's manifest cannot be read.");
	}
}

static bool is_its_key(const struct restoring *self)
{
	uint8_t id[MASTER_KEY_ID];

	master_key_id(self->key, id);
	return !memcmp(id, self->backup.key_id, sizeof id);
}

/* The key is in the backup, or the operator has put it into the new directory. */
static enum outcome find_key(struct restoring *self)
{
	int         fd;
	const char *whose = "The backup's";
	char        message[160];
	enum err    err = datadir_read_key(self->from_fd, self->key);

	if (err == ERR_NOT_FOUND && (fd = open(self->cli->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
		whose = "The data directory's";
		err = datadir_read_key(fd, self->key);
		close(fd);
	}
	if (err == ERR_NOT_FOUND)
		return cli_fail(
		    self->cli, err,
		    "There is no master.key, neither in the backup nor in the data directory: without it the "
		    "backup is of no use.");
	if (!err && is_its_key(self)) return DONE;
	snprintf(message, sizeof message, "%s master.key %s.", whose,
	         err == ERR_FOREIGN_KEY      ? "belongs to another user: make it your own"
	         : err && err != ERR_DAMAGED ? "cannot be read"
	                                     : "is not the one that belongs to this backup");
	return cli_fail(self->cli, err ? err : ERR_DAMAGED, message);
}

/* Works on one shard's files in a separate process. */
static enum outcome work_on(struct restoring *self, uint32_t shard, const char *lineage)
{
	struct offline work = {.role = "restore",
	                       .index = shard,
	                       .data = self->cli->data,
	                       .from = self->from,
	                       .lineage = lineage};
	struct buffer  outcome = {0};
	bool           done = false;
	int            signal;
	char           message[96];
	enum err       err = offline_run(&work, &self->bar, &outcome, &done, &signal);

	self->bar.part++;
	if (err) {
		snprintf(message, sizeof message, "The work on shard %u did not come to its end.", shard);
		cli_fail(self->cli, err, err == ERR_UNSUPPORTED ? OFFLINE_NOT_RUN : message);
	} else if (!done) {
		offline_fail(self->cli, buffer_span(&outcome));
	} else if (lineage) {
		if (self->shards.size) buffer_byte(&self->shards, ',');
		buffer_append(&self->shards, outcome.at, outcome.size);
	}
	buffer_free(&outcome);
	return self->cli->err ? FAILED : DONE;
}

static enum outcome work_on_all(struct restoring *self, const char *lineage)
{
	enum outcome outcome = DONE;

	for (uint32_t i = 0; outcome == DONE && i < self->backup.shards; i++)
		outcome = work_on(self, i, lineage);
	return outcome;
}

/* Directory ------------------------------------------------------------------------------------------------ */

static enum outcome refuse_target(struct restoring *self, const char *holds)
{
	char message[320];

	snprintf(message, sizeof message,
	         "The data directory `%.150s` holds %.60s: a restore wants a new or an empty one.",
	         self->cli->data, holds);
	return cli_fail(self->cli, ERR_EXISTS, message);
}

/* May this directory become one? The rest of an interrupted restore may; one that was ever served may not. Errors: ERR_EXISTS:
 * `found` is why not; ERR_IO. */
static enum err look_for_contents(int fd, char found[DATADIR_NAME])
{
	static const char *const names[] = {"journal", "db", "trust"};
	enum err                 err = datadir_has_strangers(fd, DATADIR_RESTORING, found);

	for (uint32_t i = 0; !err && i < SHARDS_MAX * 3; i++) {
		datadir_shard_path(i / 3, names[i % 3], found);
		if (!faccessat(fd, found, F_OK, 0)) err = ERR_EXISTS;
	}
	return err;
}

static enum outcome judge_contents(struct restoring *self, int fd)
{
	char     found[DATADIR_NAME];
	enum err err = look_for_contents(fd, found);

	if (err == ERR_EXISTS) return refuse_target(self, found);
	return err ? cli_fail_at(self->cli, "Cannot read", self->cli->data) : DONE;
}

static enum outcome lock_target(struct restoring *self, int fd, int *lock_fd)
{
	char     message[256];
	enum err err = datadir_lock(fd, "lock", 0, lock_fd);

	if (!err) return DONE;
	if (err != ERR_LOCKED) return cli_fail_at(self->cli, "Cannot make the file lock in", self->cli->data);
	snprintf(message, sizeof message, "Another stampede is at work on the data directory `%.150s`.",
	         self->cli->data);
	return cli_fail(self->cli, err, message);
}

/* Another restore or a start takes the lock before it makes anything else: contents beside a lock are judged under it. */
static enum outcome look_at_target(struct restoring *self)
{
	char         found[DATADIR_NAME];
	int          lock_fd = -1, fd = open(self->cli->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum outcome outcome = DONE;

	if (fd < 0 && errno == ENOENT) return DONE;
	if (fd < 0) return cli_fail_at(self->cli, "Cannot open", self->cli->data);
	if (look_for_contents(fd, found) && !faccessat(fd, "lock", F_OK, 0))
		outcome = lock_target(self, fd, &lock_fd);
	if (outcome == DONE) outcome = judge_contents(self, fd);
	if (outcome == DONE) outcome = target_check_owner(self->cli, fd, NULL, self->cli->data);
	if (lock_fd >= 0) close(lock_fd);
	close(fd);
	return outcome;
}

static enum outcome take_target(struct restoring *self)
{
	const char  *data = self->cli->data;
	enum outcome outcome;

	bool made = !mkdir(data, 0700);
	if (!made && errno != EEXIST) return cli_fail_at(self->cli, "Cannot make", data);
	self->dir_fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self->dir_fd < 0) return cli_fail_at(self->cli, "Cannot open", data);
	if ((outcome = target_check_place(self->cli, self->dir_fd, data)) == DONE)
		outcome = lock_target(self, self->dir_fd, &self->lock_fd);
	else if (made)
		(void)rmdir(data);
	return outcome == DONE ? judge_contents(self, self->dir_fd) : outcome;
}

static enum outcome furnish(struct restoring *self)
{
	char path[DATADIR_PATH];
	/* Before anything else. */
	enum err err = datadir_write(self->dir_fd, DATADIR_RESTORING, span_str("\n"));

	if (!err) err = datadir_write(self->dir_fd, "master.key", span_of(self->key, sizeof self->key));
	if (!err) err = datadir_mkdir(self->dir_fd, "run");
	if (!err) err = datadir_mkdir(self->dir_fd, "shards");
	for (uint32_t i = 0; !err && i < self->backup.shards; i++) {
		datadir_shard_path(i, NULL, path);
		err = datadir_mkdir(self->dir_fd, path);
	}
	return err ? cli_fail_at(self->cli, "Cannot write to", self->cli->data) : DONE;
}

static enum outcome finish(struct restoring *self)
{
	enum err err = datadir_sync(self->dir_fd, "..");

	if (!err) err = datadir_write_identity(self->dir_fd, &self->identity);
	if (!err && (unlinkat(self->dir_fd, DATADIR_RESTORING, 0) || fsync(self->dir_fd))) err = ERR_IO;
	return err ? cli_fail_at(self->cli, "Cannot write to", self->cli->data) : DONE;
}

/* Command ------------------------------------------------------------------------------------------------- */

static enum outcome restore(struct restoring *self)
{
	enum outcome outcome;

	if ((outcome = read_manifest(self)) != DONE || (outcome = look_at_target(self)) != DONE ||
	    (outcome = find_key(self)) != DONE)
		return outcome;
	self->identity = (struct identity){
	    .earlier = self->backup.earlier, .shards = self->backup.shards, .state = IDENTITY_RESTORED};
	memcpy(self->identity.key_id, self->backup.key_id, sizeof self->identity.key_id);
	lineages_add(&self->identity.earlier, self->backup.lineage);
	if (getrandom(self->identity.lineage, sizeof self->identity.lineage, 0) !=
	    (ssize_t)sizeof self->identity.lineage)
		return cli_fail(self->cli, ERR_IO, NULL);
	hex_text(self->identity.lineage, sizeof self->identity.lineage, self->lineage);
	self->bar.parts = 2 * self->backup.shards;
	if ((outcome = work_on_all(self, NULL)) != DONE || (outcome = take_target(self)) != DONE ||
	    (outcome = furnish(self)) != DONE || (outcome = work_on_all(self, self->lineage)) != DONE)
		return outcome;
	return finish(self);
}

static void print(struct cli *cli, const struct restoring *self)
{
	buffer_text(&cli->out, "{\"lineage\":\"");
	buffer_text(&cli->out, self->lineage);
	buffer_text(&cli->out, "\",\"shards\":[");
	buffer_append(&cli->out, self->shards.at, self->shards.size);
	buffer_text(&cli->out, "]}");
}

enum outcome restore_alone(struct cli *cli)
{
	struct restoring *self;
	const char       *from = args_option(&cli->args, "--from");
	enum outcome      outcome;

	if (from && !*from) snprintf(cli->args.why, sizeof cli->args.why, "--from is empty");
	if (!args_end(&cli->args) || !from || !*from) return MISUSED;
	if (!(self = calloc(1, sizeof *self))) return cli_fail(cli, ERR_NO_MEMORY, NULL);
	self->cli = cli;
	self->from = from;
	self->from_fd = self->dir_fd = self->lock_fd = -1;
	bar_begin(&self->bar, "restore");
	outcome = restore(self);
	bar_end(&self->bar);
	if (outcome == DONE) print(cli, self);
	if (outcome == DONE && isatty(STDERR_FILENO))
		fputs("Serve it with --no-deliveries to look at a copy: no endpoint is called then.\n",
		      stderr);
	if (self->lock_fd >= 0) close(self->lock_fd);
	if (self->dir_fd >= 0) close(self->dir_fd);
	if (self->from_fd >= 0) close(self->from_fd);
	buffer_free(&self->shards);
	explicit_bzero(self->key, sizeof self->key);
	free(self);
	return outcome;
}
