/* A shard's offline work. The command line starts a process for each, so that damage which kills the reader does not kill the
 * command:
 *   actor check N --data DIR                              checks everything of shard N
 *   actor restore N --data DIR --from BACKUP              checks the backup's files against its manifest
 *   actor restore N --data DIR --from BACKUP --lineage L  and copies them to where shard N's store finds them
 * They print JSON objects on standard output, one a line: {"done","total"} for progress, the outcome last. That is
 * {"code","message"} with status 1 if the work could not be done. */
#include "actors/roles.h"
#include "actors/rt/until.h"
#include "actors/shard/shard_dir_of.h"
#include "schemas/backup.h"
#include "schemas/json.h"
#include "schemas/libcurl.h"
#include "schemas/lines.h"
#include "store/file.h"
#include "store/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 5000, TELL_EVERY_MS = 100, WHY_TEXT = VERSION_TEXT };

/* Output -------------------------------------------------------------------------------------------------- */

static void print_line(struct buffer *line)
{
	buffer_byte(line, '\n');
	for (size_t done = 0; !line->failed && done < line->size;) {
		ssize_t n = write(STDOUT_FILENO, line->at + done, line->size - done);
		if (n < 0 && errno == EINTR) continue;
		if (n <= 0) break; /* the reader has gone */
		done += (size_t)n;
	}
	buffer_free(line);
}

static void add_key(struct buffer *line, const char *key)
{
	buffer_byte(line, line->size ? ',' : '{');
	json_quote(span_str(key), line);
	buffer_byte(line, ':');
}

static void add_number(struct buffer *line, const char *key, uint64_t value)
{
	add_key(line, key);
	json_number(value > INT64_MAX ? INT64_MAX : (int64_t)value, line);
}

static void add_flag(struct buffer *line, const char *key, bool on)
{
	add_key(line, key);
	buffer_text(line, on ? "true" : "false");
}

static int refuse(enum err err, const char *why)
{
	struct buffer line = {0};
	json_error(err, span_str(why), span_of(NULL, 0), span_of(NULL, 0), &line);
	print_line(&line);
	return 1;
}

/* A thread that prints the progress. */
struct reporter {
	struct progress progress;
	pthread_mutex_t mutex;
	pthread_cond_t  wake;
	pthread_t       thread;
	bool            started, ending;
};

static void *print_progress(void *user)
{
	struct reporter *reporter = user;
	pthread_mutex_lock(&reporter->mutex);
	while (!reporter->ending) {
		struct buffer   line = {0};
		struct timespec until = until_ms(TELL_EVERY_MS);
		pthread_cond_clockwait(&reporter->wake, &reporter->mutex, CLOCK_MONOTONIC, &until);
		if (reporter->ending) break;
		add_number(&line, "done", atomic_load(&reporter->progress.done));
		add_number(&line, "total", atomic_load(&reporter->progress.total));
		buffer_byte(&line, '}');
		print_line(&line);
	}
	pthread_mutex_unlock(&reporter->mutex);
	return NULL;
}

static void reporter_begin(struct reporter *reporter)
{
	pthread_mutex_init(&reporter->mutex, NULL);
	pthread_cond_init(&reporter->wake, NULL);
	/* On failure the work continues without it. */
	reporter->started = !pthread_create(&reporter->thread, NULL, print_progress, reporter);
}

static void reporter_end(struct reporter *reporter)
{
	pthread_mutex_lock(&reporter->mutex);
	reporter->ending = true;
	pthread_cond_signal(&reporter->wake);
	pthread_mutex_unlock(&reporter->mutex);
	if (reporter->started) pthread_join(reporter->thread, NULL);
	pthread_cond_destroy(&reporter->wake);
	pthread_mutex_destroy(&reporter->mutex);
}

/* Check --------------------------------------------------------------------------------------------------- */

/* A journal alone is not counted: the next start makes the tables of it. */
static void add_count(struct buffer *line, const char *key, bool is_known, uint64_t count)
{
	if (is_known) {
		add_number(line, key, count);
		return;
	}
	add_key(line, key);
	buffer_text(line, "null");
}

static void print_report(uint32_t index, const struct verify_report *report)
{
	struct buffer        line = {0};
	const struct faults *faults = &report->faults;
	char                 more[64];
	add_number(&line, "index", index);
	add_flag(&line, "ok", faults->count == 0);
	add_number(&line, "seq", report->seq);
	bool has_counted = report->tables || report->snapshots;
	add_count(&line, "accounts", has_counted, report->audit.accounts);
	add_count(&line, "passes", has_counted, report->audit.passes);
	add_count(&line, "ledger_rows", has_counted, report->audit.ledger_rows);
	add_count(&line, "rows", has_counted, report->audit.rows);
	add_number(&line, "records", report->records);
	add_number(&line, "segments", report->segments);
	add_number(&line, "snapshots", report->snapshots);
	add_flag(&line, "tables", report->tables);
	buffer_text(&line, ",\"faults\":[");
	for (size_t i = 0; i < faults->count && i < FAULTS_KEPT; i++) {
		if (i) buffer_byte(&line, ',');
		json_quote(span_str(faults->texts[i]), &line);
	}
	if (faults->count > FAULTS_KEPT) {
		snprintf(more, sizeof more, ",\"and %" PRIu64 " more\"", faults->count - FAULTS_KEPT);
		buffer_text(&line, more);
	}
	buffer_text(&line, "]}");
	print_line(&line);
}

/* A shard whose supervisor was just killed may still be running. A missing lock is not created, since nothing is changed. */
static enum err take_lock(int shard_fd)
{
	int      lock_fd; /* held until the process ends */
	enum err err = datadir_lock_dir(shard_fd, LOCK_WAIT_MS);
	if (err || faccessat(shard_fd, "lock", F_OK, 0)) return err;
	return datadir_lock(shard_fd, "lock", LOCK_WAIT_MS, &lock_fd);
}

int check_main(const struct options *options)
{
	static struct verify_report report;
	struct datadir              datadir;
	struct reporter             reporter = {.started = false};
	char                        path[DATADIR_PATH], why[WHY_TEXT];
	const char                 *missing;
	enum err                    err = datadir_look(options->data, &datadir);
	if (err) return refuse(err, "");
	if (!libcurl_load(&missing)) {
		snprintf(why, sizeof why, "libcurl cannot be loaded: install libcurl4 (%s).", missing);
		return refuse(ERR_UNSUPPORTED, why);
	}
	/* Damaged tables may end this process: then without a handler, even under a sanitizer. */
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	datadir_shard_path((uint32_t)options->index, NULL, path);
	int shard_fd = openat(datadir.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (shard_fd < 0) {
		if (errno == ENOENT)
			fault(&report.faults, "its directory %s is missing", path);
		else
			fault(&report.faults, "its directory %s cannot be opened: %m", path);
		print_report((uint32_t)options->index, &report);
		return 0;
	}
	struct shard_dir    shard_dir = shard_dir_of(&datadir, (uint32_t)options->index, shard_fd);
	struct verify_order order = {.shard_dir = &shard_dir, .progress = &reporter.progress};
	if ((err = take_lock(shard_fd))) {
		snprintf(why, sizeof why, "%s/lock cannot be locked: %m", path);
		return refuse(err, err == ERR_LOCKED ? "" : why);
	}
	reporter_begin(&reporter);
	err = verify_shard(&order, &report);
	reporter_end(&reporter);
	if (err) return refuse(err, "");
	print_report((uint32_t)options->index, &report);
	return 0;
}

/* Restore ------------------------------------------------------------------------------------------------- */

struct restoring {
	const struct options *options;
	struct backup         backup;
	struct snapshot       snapshot;
	int                   from_fd, shard_fd; /* BACKUP/shards/N; DIR/shards/N */
	struct reporter       reporter;
	char                  why[WHY_TEXT];
};

/* Names the faulty file of the backup. */
static enum err blame(struct restoring *self, const char *file, const char *what)
{
	snprintf(self->why, sizeof self->why, "The backup's shards/%d/%s %s.", self->options->index, file,
	         what);
	return ERR_DAMAGED;
}

static enum err judge_types(struct restoring *self)
{
	char why[ENTRY_TEXT];
	if (datadir_entry_fits(self->from_fd, "manifest", ENTRY_FILE, ENTRY_DATA, why) &&
	    datadir_entry_fits(self->from_fd, "data.mdb", ENTRY_FILE, ENTRY_DATA, why))
		return OK;
	snprintf(self->why, sizeof self->why, "The backup's shards/%d/%.240s.", self->options->index, why);
	return ERR_UNSUPPORTED;
}

static enum err open_backup(struct restoring *self)
{
	struct buffer text = {0};
	char          path[DATADIR_PATH];
	int           fd = open(self->options->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum err      err = fd < 0 ? ERR_IO : file_load(fd, "manifest", BACKUP_MANIFEST_BYTES_MAX, &text);
	if (!err) err = backup_read(buffer_span(&text), &self->backup);
	if (!err && (uint32_t)self->options->index >= self->backup.shards) err = ERR_DAMAGED;
	if (!err) {
		datadir_shard_path((uint32_t)self->options->index, NULL, path);
		self->from_fd = openat(fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (self->from_fd < 0) err = errno == ENOENT ? blame(self, "manifest", "is missing") : ERR_IO;
		if (!err) err = judge_types(self);
	}
	buffer_free(&text);
	if (fd >= 0) close(fd);
	return err;
}

/* Reads the shard's own manifest and compares it with the backup's. */
static enum err read_snapshot(struct restoring *self)
{
	const struct backup_shard *want = &self->backup.of[self->options->index];
	struct snapshot           *got = &self->snapshot;
	struct buffer              text = {0};
	char                       name[48];
	enum err                   err = file_load(self->from_fd, "manifest", MANIFEST_BYTES_MAX, &text);
	if (!err) err = snapshot_manifest_read(buffer_span(&text), got);
	if (err == ERR_UNSUPPORTED) {
		snprintf(name, sizeof name, "The backup's shards/%d/manifest", self->options->index);
		snapshot_manifest_refusal(buffer_span(&text), VERSION_OF_BACKUP, name, self->why);
	}
	buffer_free(&text);
	if (err == ERR_NOT_FOUND) return blame(self, "manifest", "is missing");
	if (err) return err == ERR_DAMAGED ? blame(self, "manifest", "is damaged") : err;
	bool same = got->shard == self->options->index && got->at.seq == want->seq &&
	            got->at.epoch == want->epoch && got->bytes == want->bytes &&
	            !memcmp(got->sha256, want->sha256, sizeof want->sha256) &&
	            !memcmp(got->lineage, self->backup.lineage, sizeof got->lineage);
	return same ? OK : blame(self, "manifest", "is of another backup");
}

static enum err check_data(struct restoring *self)
{
	struct stat st;
	uint8_t     sha256[32];
	int         fd = openat(self->from_fd, "data.mdb", O_RDONLY | O_CLOEXEC);
	enum err    err = OK;
	if (fd < 0) return errno == ENOENT ? blame(self, "data.mdb", "is missing") : ERR_IO;
	if (fstat(fd, &st)) err = ERR_IO;
	if (!err && (uint64_t)st.st_size != self->snapshot.bytes)
		err = blame(self, "data.mdb", "is of another size");
	if (!err) err = file_sha256(fd, sha256, &self->reporter.progress);
	if (!err && memcmp(sha256, self->snapshot.sha256, sizeof sha256))
		err = blame(self, "data.mdb", "is damaged");
	close(fd);
	return err;
}

static enum err copy_data(struct restoring *self, int to_dir)
{
	int      from = openat(self->from_fd, "data.mdb", O_RDONLY | O_CLOEXEC);
	int      to = openat(to_dir, "data.mdb", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	enum err err = from < 0 || to < 0 ? ERR_IO : file_copy(from, to, &self->reporter.progress);
	if (!err && fsync(to)) err = ERR_IO;
	if (from >= 0) close(from);
	if (to >= 0) close(to);
	return err;
}

/* The copy is read again before its manifest makes it a snapshot. First removes the rest of an interrupted restore. */
static enum err copy_snapshot(struct restoring *self)
{
	struct journal_dir dir = {.fd = -1, .shard = self->snapshot.shard};
	struct buffer      text = {0};
	char               name[SNAPSHOT_NAME];
	int                all_fd = -1, to_fd = -1;
	enum err           err = snapshot_prune(self->shard_fd, &dir, 0, NULL);
	snapshot_name(self->snapshot.at.seq, name);
	if (err || (err = file_open_dir(self->shard_fd, "snapshots", &all_fd))) goto out;
	if ((err = file_open_dir(all_fd, name, &to_fd)) || (err = copy_data(self, to_fd))) goto out;
	err = snapshot_check(self->shard_fd, &self->snapshot, &self->reporter.progress);
	if (err == ERR_DAMAGED)
		snprintf(self->why, sizeof self->why, "The copy of shard %d is not what was written.",
		         self->options->index);
	if (err) goto out;
	snapshot_manifest_write(&self->snapshot, &text);
	err = text.failed ? ERR_NO_MEMORY : file_replace(to_fd, "manifest", buffer_span(&text));
out:
	buffer_free(&text);
	if (to_fd >= 0) close(to_fd);
	if (all_fd >= 0) close(all_fd);
	int kept = errno;
	if (err) (void)!snapshot_prune(self->shard_fd, &dir, 0, NULL); /* its space is needed */
	errno = kept;
	return err;
}

/* Makes the snapshot one of the new directory's: the journal starts after it. */
static enum err settle(struct restoring *self)
{
	char path[DATADIR_PATH];
	int  dir_fd;
	self->snapshot.at.segment = self->snapshot.at.offset = self->snapshot.at.record_offset = 0;
	if (!hex_read(span_str(self->options->lineage), self->snapshot.lineage,
	              sizeof self->snapshot.lineage))
		return ERR_BAD_OPTION;
	if ((dir_fd = open(self->options->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) return ERR_IO;
	datadir_shard_path((uint32_t)self->options->index, NULL, path);
	self->shard_fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(dir_fd);
	return self->shard_fd < 0 ? ERR_IO : copy_snapshot(self);
}

static enum err restore(struct restoring *self)
{
	unsigned passes = self->options->lineage ? 3 : 1; /* read; copied; read again */
	enum err err;
	if ((err = open_backup(self)) || (err = read_snapshot(self))) return err;
	atomic_store(&self->reporter.progress.total, passes * self->snapshot.bytes);
	if ((err = check_data(self))) return err;
	return self->options->lineage ? settle(self) : OK;
}

int restore_main(const struct options *options)
{
	static struct restoring self = {.from_fd = -1, .shard_fd = -1};
	struct buffer           line = {0};
	self.options = options;
	if (!options->from) return refuse(ERR_BAD_OPTION, "");
	reporter_begin(&self.reporter);
	enum err err = restore(&self);
	if (err == ERR_STORAGE_FULL)
		snprintf(self.why, sizeof self.why, "There is no room left for shard %d.", options->index);
	if (err && !self.why[0] && err == ERR_IO)
		snprintf(self.why, sizeof self.why, "Shard %d: %m.", options->index);
	reporter_end(&self.reporter);
	if (err) return refuse(err, self.why);
	add_number(&line, "index", (uint64_t)options->index);
	add_number(&line, "seq", self.snapshot.at.seq);
	buffer_byte(&line, '}');
	print_line(&line);
	return 0;
}
