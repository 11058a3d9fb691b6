/* pass import: creates passes from a file of rows.
 *
 * Everything that can be checked in advance (file, account, template, header, files for failed rows) is checked before the
 * first row is sent. Then rows are read, checked and packed by the code for request bodies and put into the flight, which
 * returns them with their outcomes in the order of the file. */
#include "ops/cli/cli.h"
#include "ops/cli/import/failed.h"
#include "ops/cli/import/flight.h"
#include "ops/cli/interrupt.h"
#include "ops/cli/progress.h"
#include "schemas/arguments.h"
#include "schemas/api/pass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAIT_SEC = 30 };

struct import {
	struct cli       *cli;
	const char       *path, *template_id; /* template_id NULL: the account's first */
	struct account_id account;
	int64_t           wait_ms;
	enum format       format;
	int               fd;
	struct stat       of;   /* of the file, when the import began */
	uint64_t          size; /* likewise */

	struct arena arena;       /* of the template */
	struct template template; /* size of its name 0: not found */
	struct span defaults[ARGS_PASS_CREATE];

	struct rows             rows;
	struct flight          *flight;
	struct failed           failed;
	struct arguments_memory memory;
	struct bar              bar;

	bool     at_end;     /* no more rows are read */
	bool     is_changed; /* the file is: rows that fail cannot be copied */
	uint64_t created, failures, line;
	enum err err; /* why it stops before the end of the file */
	char     why[256];
};

#define SILENT                                                                                               \
	"The service did not answer within --wait. Rows that failed with OUTCOME_UNKNOWN are perhaps made: " \
	"they can be imported again, which makes no pass twice."

/* ---- checks in advance ---- */

static bool ends_with(const char *text, size_t size, const char *end)
{
	size_t end_size = strlen(end);

	return size > end_size && !strncasecmp(text + size - end_size, end, end_size);
}

/* By the file's name; the files of an earlier import can be imported under their names. */
static enum outcome choose_format(struct import *self)
{
	static const char *const sheets[] = {".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".numbers"};
	size_t                   size = strlen(self->path);

	while (ends_with(self->path, size, ".failed"))
		size -= strlen(".failed");
	self->format = ends_with(self->path, size, ".csv") ? FORMAT_CSV : FORMAT_JSONL;
	if (self->format == FORMAT_CSV || ends_with(self->path, size, ".jsonl")) return DONE;
	for (unsigned i = 0; i < sizeof sheets / sizeof *sheets; i++)
		if (ends_with(self->path, size, sheets[i]))
			return cli_refuse(self->cli, REASON_OF_ALL(FILE_SHEET));
	return cli_refuse(self->cli, REASON_OF_ALL(FILE_ENDING));
}

static enum outcome fail_at(struct import *self, const char *what)
{
	char message[400];

	snprintf(message, sizeof message, "%.120s %s", self->path, what);
	return cli_fail(self->cli, ERR_INVALID_REQUEST, message);
}

/* Failed rows are read a second time, so it must be a regular file. */
static enum outcome open_file(struct import *self)
{
	char what[100];

	self->fd = open(self->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (self->fd < 0 || fstat(self->fd, &self->of)) {
		snprintf(what, sizeof what, "cannot be opened: %s.", strerror(errno));
		return fail_at(self, what);
	}
	if (S_ISDIR(self->of.st_mode)) return fail_at(self, "is a directory.");
	if (!S_ISREG(self->of.st_mode)) return fail_at(self, "is not a regular file.");
	if (flock(self->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return cli_fail(self->cli, ERR_RESOURCE_CONFLICT,
		                "Another import of this file is under way.");
	self->size = (uint64_t)self->of.st_size;
	return DONE;
}

static void on_account(void *user, uint32_t shard, const struct reply *reply)
{
	struct import        *self = user;
	const msgpack_object *suspended;

	(void)shard;
	if (!cli_part_ok(self->cli, reply)) return;
	suspended = msgpack_member(reply->payload, "suspended");
	if (suspended && arg_boolean(suspended, false)) cli_fail(self->cli, ERR_ACCOUNT_SUSPENDED, NULL);
}

static enum outcome check_account(struct import *self)
{
	struct call_spec request = {.message = MSG_ACCOUNT_SHOW, .account = &self->account};

	return cli_call_parts(self->cli, &request, on_account, self);
}

/* Keeps the template if it is the wanted one. */
static enum err look_at_template(struct import *self, struct span text)
{
	const struct json *id;
	struct json       *file;
	struct file_fault  fault;
	uint8_t           *kept;
	enum err           err;

	arena_reset(&self->arena);
	if (!(kept = arena_take(&self->arena, text.size))) return ERR_NO_MEMORY;
	memcpy(kept, text.at, text.size);
	if ((err = json_parse(span_of(kept, text.size), &self->arena, &file))) return err;
	if (!(id = json_member(file, "pass_template_id")) || id->kind != JSON_STRING) return ERR_MALFORMED;
	if (self->template_id && !span_is(id->text, self->template_id)) return OK;
	if ((err = template_read(file, &self->template, &fault))) return err;
	self->defaults[ARG_PASS_CREATE_pass_template_id] = id->text;
	return OK;
}

static void on_templates(void *user, uint32_t shard, const struct reply *reply)
{
	struct import              *self = user;
	const msgpack_object_array *items;
	enum err                    err = OK;

	(void)shard;
	if (!cli_part_ok(self->cli, reply)) return;
	if (!(items = cli_items(reply->payload))) err = ERR_MALFORMED;
	for (uint32_t i = 0; !err && i < items->size && !self->template.name.size; i++) {
		const msgpack_object *item = &items->ptr[i];
		err = item->type == MSGPACK_OBJECT_BIN
		          ? look_at_template(self, span_of(item->via.bin.ptr, item->via.bin.size))
		          : ERR_MALFORMED;
	}
	if (err) cli_fail(self->cli, err, NULL);
}

static enum outcome find_template(struct import *self)
{
	struct call_spec  request = {.message = MSG_TEMPLATE_LIST, .account = &self->account};
	struct account_id owner;
	uint32_t          number;
	enum outcome      outcome = cli_call_parts(self->cli, &request, on_templates, self);

	if (outcome != DONE || self->template.name.size) return outcome;
	if (!self->template_id) return cli_refuse(self->cli, REASON_OF_ALL(NO_TEMPLATE));
	if (template_id_read(span_str(self->template_id), &owner, &number) &&
	    !account_same(owner, self->account))
		return cli_fail(self->cli, ERR_UNAUTHORIZED, NULL);
	return cli_refuse(self->cli,
	                  REASON(TEMPLATE_UNKNOWN, "pass_template_id", .given = span_str(self->template_id)));
}

static enum outcome open_rows(struct import *self)
{
	enum err err = rows_open(&self->rows, self->format, self->fd, &self->template);

	if (err == ERR_INVALID_INPUT) return cli_fail(self->cli, err, self->rows.why);
	if (err == ERR_IO) return fail_at(self, "cannot be read.");
	return err ? cli_fail(self->cli, err, NULL) : DONE;
}

static enum outcome prepare(struct import *self)
{
	enum outcome outcome;
	enum err     err;

	if ((outcome = choose_format(self)) != DONE || (outcome = open_file(self)) != DONE ||
	    (outcome = check_account(self)) != DONE || (outcome = find_template(self)) != DONE ||
	    (outcome = open_rows(self)) != DONE)
		return outcome;
	if ((err = flight_open(&self->flight, self->cli->service, &self->account, self->wait_ms)))
		return cli_fail(self->cli, err, NULL);
	if ((err = failed_open(&self->failed, self->path, self->fd, self->rows.header_size)))
		return cli_fail(self->cli, err, self->failed.why);
	return DONE;
}

/* ---- rows ---- */

/* Stops reading and sending; the first reason is kept. */
static void stop(struct import *self, enum err err, const char *why)
{
	if (!self->err) {
		self->err = err;
		snprintf(self->why, sizeof self->why, "%s", why);
	}
	self->at_end = true;
	flight_stop(self->flight);
}

static enum err pack(struct import *self, struct row *row, const struct row_read *read)
{
	struct arguments_source source = {
	    .body = read->body, .called = "The row", .defaults = self->defaults};
	struct span    none = span_of("", 0);
	struct refusal refusal;
	enum err       err = read->err;
	const char    *why;

	row->place = read->place;
	if (err) {
		row_blame(row, err, span_str(self->rows.why), none);
		return OK;
	}
	arena_reset(&self->memory.arena);
	buffer_clear(&self->memory.scratch);
	err = arguments_pack(MSG_PASS_CREATE, &source, &self->memory, &row->args, &refusal);
	if (err == ERR_NO_MEMORY || !err) return err;
	buffer_clear(&row->args);
	if (err == ERR_INVALID_REQUEST && !refusal.field.size && (why = row_fault(read->body)))
		row_blame(row, err, span_str(why), none);
	else
		row_blame(row, err, span_str(refusal.message), refusal.field);
	return OK;
}

static bool is_as_it_was(const struct import *self)
{
	struct stat now;

	return !fstat(self->fd, &now) && now.st_size == self->of.st_size &&
	       now.st_mtim.tv_sec == self->of.st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == self->of.st_mtim.tv_nsec;
}

/* What was read last may be a part of either content, and nothing of it has been sent yet. */
static void look_at_file(struct import *self)
{
	if (self->is_changed || is_as_it_was(self)) return;
	self->is_changed = true;
	stop(self, ERR_RESOURCE_CONFLICT,
	     "The file was changed while it was imported. Import it again: a pass that is there already "
	     "stays.");
}

static void read_rows(struct import *self)
{
	struct row_read read;
	struct row     *row;
	enum err        err = OK;

	bool reads = false;

	while (!self->at_end && (row = flight_room(self->flight))) {
		reads = true;
		err = rows_next(&self->rows, &read);
		if (!err) err = pack(self, row, &read);
		if (err) break;
		flight_add(self->flight);
	}
	if (reads) look_at_file(self);
	if (!err) return;
	self->at_end = true;
	if (err != ERR_NOT_FOUND)
		stop(self, err, err == ERR_IO ? "The file cannot be read." : err_message(err));
}

static void take_off_ended(struct import *self)
{
	struct row *row;
	enum err    err;

	while ((row = flight_ended(self->flight))) {
		self->line = row->place.line;
		self->created += !row->err;
		self->failures += row->err != OK;
		if (row->err) look_at_file(self); /* its bytes are read again */
		if (row->err && !self->is_changed &&
		    (err = failed_add(&self->failed, &row->place, buffer_span(&row->reason))))
			stop(self, err, self->failed.why);
		bar_show(&self->bar, row->place.at + row->place.size, self->size);
		flight_drop(self->flight);
	}
}

static void run(struct import *self)
{
	bar_begin(&self->bar, "import");
	for (;;) {
		if (interrupt_came()) stop(self, ERR_STOPPED, err_message(ERR_STOPPED));
		read_rows(self);
		take_off_ended(self);
		if (flight_is_empty(self->flight)) {
			if (self->at_end) break;
			continue;
		}
		flight_turn(self->flight);
		enum err trouble = flight_trouble(self->flight);
		if (trouble)
			stop(self, trouble, trouble == ERR_SHARD_UNAVAILABLE ? SILENT : err_message(trouble));
	}
	bar_end(&self->bar);
}

/* ---- the end ---- */

static enum outcome print_outcome(struct import *self)
{
	unsigned long long created = self->created, failed = self->failures, line = self->line;
	unsigned long long kept = self->failed.count;
	char               message[REASON_TEXT];
	enum err           err;

	if (!self->err) failed_print(&self->failed);
	if ((err = failed_close(&self->failed)) && !self->err) {
		self->err = err;
		snprintf(self->why, sizeof self->why, "%s", self->failed.why);
	}
	if (!self->err) {
		snprintf(message, sizeof message, "{\"created\":%llu,\"failed\":%llu}", created, failed);
		buffer_text(&self->cli->out, message);
		return DONE;
	}
	snprintf(message, sizeof message,
	         "Stopped after line %llu, with %llu rows created and %llu failed: %s", line, created, failed,
	         self->why);
	size_t size = strlen(message);
	if (kept < failed)
		snprintf(message + size, sizeof message - size,
		         " FILE.failed has the first %llu of the rows that failed.", kept);
	return cli_fail(self->cli, self->err, message);
}

static void close_import(struct import *self)
{
	(void)!failed_close(&self->failed); /* closed already, unless the import could not begin */
	flight_close(&self->flight);
	rows_close(&self->rows);
	arena_free(&self->arena);
	arena_free(&self->memory.arena);
	buffer_free(&self->memory.scratch);
	if (self->fd >= 0) close(self->fd);
	free(self);
}

enum outcome pass_import(struct cli *cli)
{
	const char       *template_id = args_option(&cli->args, "--template");
	struct number     wait = args_duration(&cli->args, "--wait");
	const char       *id = args_word(&cli->args), *path = args_word(&cli->args);
	struct account_id account;
	struct import    *self;
	enum outcome      outcome;

	if (args_end(&cli->args) && !*path) snprintf(cli->args.why, sizeof cli->args.why, "FILE is empty");
	if (args_end(&cli->args) && wait.given && !wait.value)
		snprintf(cli->args.why, sizeof cli->args.why, "--wait wants 1s or more");
	if (!args_end(&cli->args) || !*path || (wait.given && !wait.value)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	if (!(self = calloc(1, sizeof *self))) return cli_fail(cli, ERR_NO_MEMORY, NULL);
	self->cli = cli;
	self->path = path;
	self->template_id = template_id;
	self->account = account;
	self->wait_ms = (wait.given ? wait.value : WAIT_SEC) * 1000;
	self->fd = -1;
	if ((outcome = prepare(self)) == DONE) {
		interrupt_catch();
		run(self);
		outcome = print_outcome(self);
	}
	close_import(self);
	return outcome;
}
