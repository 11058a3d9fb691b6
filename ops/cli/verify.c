/* verify: recomputes everything that can be recomputed. In a running service each shard checks its journal and a snapshot made
 * for it. In an offline directory a process for each shard checks all of its files. The answer is printed in either case; with
 * faults the status is 1. */
#include "actors/rt/datadir.h"
#include "ops/cli/maintenance.h"
#include "ops/cli/offline.h"
#include "ops/cli/reach.h"
#include "schemas/json.h"
#include "schemas/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAULT_TEXT_MAX = 256 };

struct verifying {
	struct cli   *cli;
	struct bar    bar;
	struct buffer shards[SHARDS_MAX]; /* one object a shard; they end in any order */
	struct buffer faults;             /* of all, as JSON strings */
	int           lock_fd;
};

static void add_fault(struct verifying *self, const char *text)
{
	if (self->faults.size) buffer_byte(&self->faults, ',');
	json_quote(span_str(text), &self->faults);
}

static void add_shard_fault(struct verifying *self, uint32_t shard, struct span text)
{
	char line[FAULT_TEXT_MAX];

	snprintf(line, sizeof line, "shard %u: %.*s", shard, (int)text.size, (const char *)text.at);
	add_fault(self, line);
}

/* Directory ------------------------------------------------------------------------------------------------ */

static void fail_to_open(struct cli *cli, enum err err)
{
	char text[REASON_TEXT];

	reach_explain(cli->data, err, text);
	cli_fail(cli, err, text);
}

static const char *cannot(const char *what, int cause, char text[VERSION_TEXT])
{
	snprintf(text, VERSION_TEXT, "%s: %s", what, strerror(cause));
	return text;
}

/* Checks what concerns no shard. False: there is no usable identity. No directory at all, or a backup, is a mistake, not
 * a fault. */
static bool look_at_directory(struct verifying *self, struct datadir *datadir)
{
	uint8_t  key[32];
	char     why[VERSION_TEXT], wrong[ENTRY_TEXT];
	int      fd = open(self->cli->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum err err = datadir_look(self->cli->data, datadir);
	int      cause = errno;
	bool     fits = fd < 0 || !datadir_judge(fd, err ? 0 : datadir->identity.shards, wrong);

	if (!fits)
		add_fault(self, wrong);
	else if ((fd < 0 && err) || (err == ERR_NOT_FOUND && (faccessat(fd, "shards", F_OK, 0) ||
	                                                      !faccessat(fd, "manifest", F_OK, 0))))
		fail_to_open(self->cli, err);
	else if (err)
		add_fault(self, err == ERR_NOT_FOUND     ? "identity: missing"
		                : err == ERR_UNSUPPORTED ? (datadir_refusal(self->cli->data, why), why)
		                : err == ERR_DAMAGED     ? "identity: damaged"
		                                         : cannot("identity: cannot be read", cause, why));
	if (fd >= 0) close(fd);
	if (!err && !fits) datadir_close(datadir);
	if (err || !fits) return false;
	err = datadir_master_key(datadir, key);
	explicit_bzero(key, sizeof key);
	if (err)
		add_fault(self, err == ERR_NOT_FOUND     ? "master.key: missing"
		                : err == ERR_FOREIGN_KEY ? "master.key: belongs to another user"
		                : err == ERR_OTHER_KEY   ? "master.key: does not belong to this directory"
		                : err == ERR_DAMAGED     ? "master.key: not of 32 bytes"
		                                         : cannot("master.key: cannot be read", errno, why));
	return true;
}

/* A running service holds this lock, and none may start meanwhile. A directory that was never served has no lock, and none is
 * created. Errors: ERR_LOCKED: it is served. */
static enum err take_lock(struct verifying *self, const struct datadir *datadir)
{
	if (faccessat(datadir->fd, "lock", F_OK, 0)) return OK;
	return datadir_lock(datadir->fd, "lock", 0, &self->lock_fd);
}

/* Offline ------------------------------------------------------------------------------------------------- */

/* Moves the faults from a shard's object into the list of all. */
static void gather_faults(struct verifying *self, uint32_t shard, struct span object)
{
	struct arena       arena = {0};
	struct json       *value;
	const struct json *faults;

	if (json_parse(object, &arena, &value) || value->kind != JSON_OBJECT ||
	    !(faults = json_member(value, "faults")))
		add_shard_fault(self, shard, span_str("its reader gave no report"));
	else
		for (const struct json *one = faults->child; one; one = one->next)
			add_shard_fault(self, shard, one->text);
	arena_free(&arena);
}

static void add_silent_shard(struct verifying *self, uint32_t shard, int signal)
{
	char text[160];

	if (signal)
		snprintf(text, sizeof text, "the tables crash their reader (signal %d)", signal);
	else
		snprintf(text, sizeof text, "its reader ended without a report");
	add_shard_fault(self, shard, span_str(text));
	snprintf(text, sizeof text, "{\"index\":%u,\"ok\":false,\"faults\":[", shard);
	buffer_text(&self->shards[shard], text);
	snprintf(text, sizeof text,
	         signal ? "the tables crash their reader" : "its reader ended without a report");
	json_quote(span_str(text), &self->shards[shard]);
	buffer_text(&self->shards[shard], "]}");
}

static enum outcome check_shard(struct verifying *self, uint32_t shard)
{
	struct offline work = {.role = "check", .index = shard, .data = self->cli->data};
	struct buffer  object = {0};
	bool           done = false;
	int            signal = 0;
	enum err       err = offline_run(&work, &self->bar, &object, &done, &signal);
	enum outcome   outcome = DONE;

	self->bar.part++;
	if (err == ERR_PEER_GONE) {
		add_silent_shard(self, shard, signal);
	} else if (err) {
		outcome = cli_fail(self->cli, err, err == ERR_UNSUPPORTED ? OFFLINE_NOT_RUN : NULL);
	} else if (!done) {
		outcome = offline_fail(self->cli, buffer_span(&object));
	} else {
		gather_faults(self, shard, buffer_span(&object));
		buffer_append(&self->shards[shard], object.at, object.size);
	}
	buffer_free(&object);
	return outcome;
}

static enum outcome verify_offline(struct verifying *self, const struct datadir *datadir)
{
	enum outcome outcome = DONE;

	self->bar.parts = datadir->identity.shards;
	for (uint32_t i = 0; outcome == DONE && i < datadir->identity.shards; i++)
		outcome = check_shard(self, i);
	return outcome;
}

/* Online -------------------------------------------------------------------------------------------------- */

static void print_numbers(const msgpack_object *state, struct buffer *out)
{
	static const char *const keys[] = {"seq",  "accounts", "passes",   "ledger_rows",
	                                   "rows", "records",  "segments", "snapshots"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		buffer_text(out, ",\"");
		buffer_text(out, keys[i]);
		buffer_text(out, "\":");
		json_number((int64_t)cli_number(state, keys[i]), out);
	}
	buffer_text(out, ",\"tables\":false,\"faults\":");
}

static void on_end(void *user, uint32_t shard, enum err err, const msgpack_object *state)
{
	struct verifying     *self = user;
	const msgpack_object *faults = msgpack_member(state, "faults");
	uint64_t              count = cli_number(state, "fault_count");
	struct buffer        *out = &self->shards[shard];
	char                  text[64];

	if (err && err != ERR_DAMAGED) {
		cli_job_failed(self->cli, shard, err, state);
		return;
	}
	snprintf(text, sizeof text, "{\"index\":%u,\"ok\":%s", shard, count || err ? "false" : "true");
	buffer_text(out, text);
	print_numbers(state, out);
	if (!faults || faults->type != MSGPACK_OBJECT_ARRAY || json_render(faults, out)) {
		cli_fail(self->cli, ERR_MALFORMED, NULL);
		return;
	}
	buffer_byte(out, '}');
	for (uint32_t i = 0; i < faults->via.array.size; i++) {
		const msgpack_object *one = &faults->via.array.ptr[i];
		if (one->type == MSGPACK_OBJECT_STR)
			add_shard_fault(self, shard, span_of(one->via.str.ptr, one->via.str.size));
	}
	if (count > faults->via.array.size || (err && !count))
		add_shard_fault(self, shard, span_str(count ? "and more" : "its tables cannot be copied"));
}

static enum outcome verify_online(struct verifying *self)
{
	struct maintenance_order order = {
	    .what = "verify", .bar = &self->bar, .on_end = on_end, .user = self};
	enum outcome outcome = cli_open(self->cli);

	if (self->cli->err == ERR_NOT_RUNNING)
		self->cli->err = ERR_LOCKED; /* the lock is held, but its holder does not answer */
	return outcome == DONE ? cli_maintain(self->cli, &order) : outcome;
}

/* Both ---------------------------------------------------------------------------------------------------- */

/* Printed here, because a command that fails prints no result itself. */
static enum outcome print(struct verifying *self)
{
	struct buffer *out = &self->cli->out;
	bool           ok = self->faults.size == 0;

	buffer_text(out, ok ? "{\"ok\":true,\"shards\":[" : "{\"ok\":false,\"shards\":[");
	for (uint32_t i = 0, printed = 0; i < SHARDS_MAX; i++) {
		if (!self->shards[i].size) continue;
		if (printed++) buffer_byte(out, ',');
		buffer_append(out, self->shards[i].at, self->shards[i].size);
		out->failed |= self->shards[i].failed;
	}
	buffer_text(out, "],\"faults\":[");
	buffer_append(out, self->faults.at, self->faults.size);
	buffer_text(out, "]}");
	if (out->failed || self->faults.failed) return cli_fail(self->cli, ERR_NO_MEMORY, NULL);
	if (ok) return DONE;
	buffer_byte(out, '\n');
	if (cli_print(self->cli) != DONE) return FAILED;
	return cli_fail(self->cli, ERR_DAMAGED, "What was found is on standard output.");
}

static enum outcome verify(struct verifying *self)
{
	struct datadir datadir;
	char           why[VERSION_TEXT];
	enum outcome   outcome;
	enum err       err;

	if (!look_at_directory(self, &datadir)) return self->cli->err ? FAILED : print(self);
	err = take_lock(self, &datadir);
	if (err && err != ERR_LOCKED)
		outcome = cli_fail(self->cli, err, cannot("The file lock cannot be locked", errno, why));
	else
		outcome = err ? verify_online(self) : verify_offline(self, &datadir);
	datadir_close(&datadir);
	bar_end(&self->bar);
	return outcome == DONE ? print(self) : outcome;
}

enum outcome verify_alone(struct cli *cli)
{
	struct verifying self = {.cli = cli, .lock_fd = -1};
	enum outcome     outcome;

	if (!args_end(&cli->args)) return MISUSED;
	bar_begin(&self.bar, "verify");
	outcome = verify(&self);
	bar_end(&self.bar);
	if (self.lock_fd >= 0) close(self.lock_fd);
	for (uint32_t i = 0; i < SHARDS_MAX; i++)
		buffer_free(&self.shards[i]);
	buffer_free(&self.faults);
	return outcome;
}
