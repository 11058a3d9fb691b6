/* Rows that failed. Their bytes are copied from the file when they fail, so that rows in flight need not be kept. */
#include "ops/cli/import/failed.h"
#include "schemas/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 64 << 10, SHOWN_MAX = 20 };

static const char rows_suffix[] = ".failed", errors_suffix[] = ".errors";

static enum err fail(struct failed *failed, const char *suffix)
{
	snprintf(failed->why, sizeof failed->why, "%.150s%s cannot be written: %s.", failed->path, suffix,
	         strerror(errno));
	return errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO;
}

static bool name(const struct failed *failed, const char *suffix, char path[PATH_MAX])
{
	int size = snprintf(path, PATH_MAX, "%s%s", failed->path, suffix);

	errno = ENAMETOOLONG;
	return size > 0 && size < PATH_MAX;
}

/* Creates a new file and removes an old one: it never writes through a link, which might lead to the import file. */
static FILE *make(const struct failed *failed, const char *suffix)
{
	char        path[PATH_MAX];
	struct stat of;
	FILE       *file;
	int         fd;

	if (!name(failed, suffix, path) || fstat(failed->from, &of)) return NULL;
	if (unlink(path) && errno != ENOENT) return NULL;
	/* The same users may read the rows here as in the import file. */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, of.st_mode & 0777);
	if (fd < 0) return NULL;
	if (!(file = fdopen(fd, "w"))) close(fd);
	return file;
}

static void take_away(const struct failed *failed, const char *suffix)
{
	char path[PATH_MAX];

	if (name(failed, suffix, path)) (void)unlink(path);
}

enum err failed_open(struct failed *failed, const char *path, int from, uint64_t header_size)
{
	*failed = (struct failed){.from = from, .header_size = header_size, .path = path};
	if (!(failed->rows = make(failed, rows_suffix))) return fail(failed, rows_suffix);
	if ((failed->errors = make(failed, errors_suffix))) return OK;
	enum err err = fail(failed, errors_suffix);
	fclose(failed->rows);
	failed->rows = NULL;
	take_away(failed, rows_suffix);
	return err;
}

/* Copies bytes of the import file, and adds the LF. */
static enum err copy(struct failed *failed, uint64_t at, uint64_t size)
{
	uint8_t bytes[COPY_BYTES];

	while (size) {
		size_t  step = size < sizeof bytes ? (size_t)size : sizeof bytes;
		ssize_t got = pread(failed->from, bytes, step, (off_t)at);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) {
			snprintf(failed->why, sizeof failed->why, "The file cannot be read again: %s.",
			         got ? strerror(errno) : "it has become shorter");
			return ERR_IO;
		}
		if (fwrite(bytes, 1, (size_t)got, failed->rows) != (size_t)got)
			return fail(failed, rows_suffix);
		at += (uint64_t)got;
		size -= (uint64_t)got;
	}
	return fputc('\n', failed->rows) == EOF ? fail(failed, rows_suffix) : OK;
}

static enum err add_row(struct failed *failed, const struct row_place *place)
{
	enum err err = OK;

	if (!failed->count && failed->header_size) err = copy(failed, 0, failed->header_size);
	if (!err) err = copy(failed, place->at, place->size);
	return !err && fflush(failed->rows) ? fail(failed, rows_suffix) : err;
}

static enum err add_reason(struct failed *failed, uint64_t number, struct span reason)
{
	char          line[40];
	struct buffer shown = {0};
	enum err      err = OK;

	snprintf(line, sizeof line, "line %llu: ", (unsigned long long)number);
	buffer_text(&shown, line);
	json_shown(reason, &shown); /* the file may determine words of it */
	buffer_byte(&shown, '\n');
	if (shown.failed)
		err = ERR_NO_MEMORY;
	else if (fwrite(shown.at, 1, shown.size, failed->errors) != shown.size || fflush(failed->errors))
		err = fail(failed, errors_suffix);
	else if (failed->count < SHOWN_MAX)
		buffer_append(&failed->first, shown.at, shown.size);
	buffer_free(&shown);
	return err;
}

/* What was written before the row. */
static off_t end_of(FILE *file)
{
	return lseek(fileno(file), 0, SEEK_CUR);
}

static void cut(FILE *file, off_t end)
{
	__fpurge(file);
	(void)!ftruncate(fileno(file), end);
}

/* Both files are flushed after each row, so that after a failure they can be cut to whole rows. */
enum err failed_add(struct failed *failed, const struct row_place *place, struct span reason)
{
	if (failed->is_cut) return OK;
	off_t    rows = end_of(failed->rows), errors = end_of(failed->errors);
	enum err err = add_row(failed, place);
	if (!err) err = add_reason(failed, place->line, reason);
	if (err) {
		cut(failed->rows, rows);
		cut(failed->errors, errors);
		failed->is_cut = true;
		return err;
	}
	failed->count++;
	return OK;
}

enum err failed_close(struct failed *failed)
{
	enum err err = OK;

	if (failed->rows && fclose(failed->rows) && !failed->is_cut) err = fail(failed, rows_suffix);
	if (failed->errors && fclose(failed->errors) && !err && !failed->is_cut)
		err = fail(failed, errors_suffix);
	if (failed->rows && !failed->count) {
		take_away(failed, rows_suffix);
		take_away(failed, errors_suffix);
	}
	failed->rows = failed->errors = NULL;
	buffer_free(&failed->first);
	return err;
}

void failed_print(const struct failed *failed)
{
	if (!failed->count) return;
	if (failed->first.size) fwrite(failed->first.at, 1, failed->first.size, stderr);
	if (failed->count > SHOWN_MAX)
		fprintf(stderr, "and %llu more: all reasons are in %s%s\n",
		        (unsigned long long)(failed->count - SHOWN_MAX), failed->path, errors_suffix);
}
