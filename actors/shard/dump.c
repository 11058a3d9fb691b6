/* Prints the files of a shard for people. A separate process does it, because damage may kill the reader:
 *   actor dump N --data DIR/shards/N [--from SEQ]                 its journal
 *   actor dump N --data DIR/shards/N --table NAME [--from PREFIX] one table
 * Lines of JSON go to standard output. A failure is {"code","message"} on standard error, with status 1; so is damage, after
 * everything that can be shown. A closed pipe is no failure. The directory is that of a shard, or a copy of one. Nothing in it
 * is changed. The process holds its locks, so that it cannot be served meanwhile. */
#include "actors/roles.h"
#include "actors/rt/stdio_wait.h"
#include "actors/rt/datadir.h"
#include "schemas/cause.h"
#include "schemas/json.h"
#include "store/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 500 };

static const char *dir; /* as the operator wrote it */

static int refuse(enum err err, struct span why)
{
	struct buffer line = {0};
	json_error(err, why, span_of(NULL, 0), span_of(NULL, 0), &line);
	buffer_byte(&line, '\n');
	fwrite(line.at, 1, line.size, stderr);
	buffer_free(&line);
	return 1;
}

static int refuse_dir(enum cause cause, const char *wanted)
{
	char text[REASON_TEXT];
	reason_text(&(struct reason){.cause = cause, .given = span_str(dir), .wanted = wanted}, text);
	return refuse(cause_err(cause), span_str(text));
}

/* A shard's directory, or that of one in a backup, has one of these. */
static bool is_of_shard(int shard_fd)
{
	static const char *const names[] = {"journal", "db", "snapshots", "data.mdb"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!faccessat(shard_fd, names[i], F_OK, AT_SYMLINK_NOFOLLOW)) return true;
	return false;
}

/* A missing lock, or one on a read-only file system, is not needed. Held until the process ends. */
static enum err take_lock(int shard_fd, const char *name)
{
	int lock_fd;
	if (faccessat(shard_fd, name, F_OK, 0)) return OK;
	enum err err = datadir_lock(shard_fd, name, LOCK_WAIT_MS, &lock_fd);
	return err == ERR_IO && errno == EROFS ? OK : err;
}

/* Takes the supervisor's lock too: between two runs of a shard its own is free. */
static enum err take_locks(int shard_fd)
{
	enum err err = OK;
	if (!faccessat(shard_fd, "../../identity", F_OK, 0)) err = take_lock(shard_fd, "../../lock");
	if (!err) err = datadir_lock_dir(shard_fd, LOCK_WAIT_MS);
	return err ? err : take_lock(shard_fd, "lock");
}

static struct buffer shown; /* a line as it is printed */

static bool print_line(void *user, struct span line)
{
	(void)user;
	buffer_clear(&shown);
	json_shown(line, &shown);
	return !shown.failed && fwrite(shown.at, 1, shown.size, stdout) == shown.size;
}

/* A reader that has closed the pipe is no failure. */
static enum err end_lines(enum err err)
{
	bool failed = fflush(stdout) || ferror(stdout);
	if (!err && shown.failed) err = ERR_NO_MEMORY;
	return !err && failed && errno != EPIPE ? ERR_IO : err;
}

static char                 sentence[VERSION_TEXT];
static const struct dump_to out = {.line = print_line, .why = sentence};

static int dump_records(int shard_fd, const char *from)
{
	uint64_t seq = from ? strtoull(from, NULL, 10) : 0;
	enum err err = end_lines(dump_journal(shard_fd, seq, &out));
	if (!err) return 0;
	if (err == ERR_NOT_FOUND) return refuse_dir(CAUSE_SHARD_JOURNALLESS, NULL);
	return refuse(err, span_str(sentence));
}

static int refuse_table(void)
{
	struct buffer why = {0};
	buffer_text(&why, "There is no such table. Tables: ");
	dump_table_names(&why);
	int status = refuse(ERR_BAD_OPTION, buffer_span(&why));
	buffer_free(&why);
	return status;
}

static int refuse_prefix(enum table table)
{
	struct buffer why = {0};
	buffer_text(&why, "--key is not how a key of this table begins. Its parts: ");
	dump_key_parts(table, &why);
	int status = refuse(ERR_BAD_OPTION, buffer_span(&why));
	buffer_free(&why);
	return status;
}

static int dump_rows(int shard_fd, const struct options *options)
{
	struct row_key prefix = {.size = 0};
	enum table     table = dump_table_named(span_str(options->table));
	if (table == TABLE_END) return refuse_table();
	if (options->from && dump_prefix(table, span_str(options->from), &prefix))
		return refuse_prefix(table);
	enum err err = end_lines(dump_table(shard_fd, table, key_span(&prefix), &out));
	if (!err) return 0;
	if (err == ERR_NOT_FOUND) return refuse_dir(CAUSE_SHARD_TABLELESS, NULL);
	return refuse(err, span_str(err == ERR_DAMAGED && !sentence[0]
	                                ? "The tables are damaged: db/data.mdb cannot be read."
	                                : sentence));
}

int dump_main(const struct options *options)
{
	stdio_wait();
	/* Damaged tables may end this process: then without a handler, even under a sanitizer. */
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	int shard_fd = open(dir = options->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (shard_fd < 0 && errno == ENOENT) return refuse_dir(CAUSE_SHARD_MISSING, NULL);
	if (shard_fd < 0) return refuse_dir(CAUSE_SHARD_UNREADABLE, strerror(errno));
	if (!is_of_shard(shard_fd)) return refuse_dir(CAUSE_SHARD_OTHER, NULL);
	enum err err = take_locks(shard_fd);
	if (err == ERR_LOCKED) return refuse_dir(CAUSE_SHARD_LOCKED, NULL);
	if (err) {
		snprintf(sentence, sizeof sentence, "The locks of this directory cannot be taken: %m.");
		return refuse(err, span_str(sentence));
	}
	return options->table ? dump_rows(shard_fd, options) : dump_records(shard_fd, options->from);
}
