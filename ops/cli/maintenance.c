/* Starts jobs of the snapshotters and waits for them. A snapshotter remembers only its last job, so commands take turns by a
 * lock, and a job whose command was killed is waited for. A restarted shard has forgotten its job, which its epoch shows. */
#include "ops/cli/maintenance.h"
#include "ops/cli/interrupt.h"
#include "actors/rt/datadir.h"
#include "actors/rt/time.h"
#include "schemas/api/system.h"
#include "schemas/limits.h"

#include <time.h>
#include <unistd.h>

enum {
	ASK_EVERY_MS = 100,
	BUSY_WAIT_MS = 120000,
	STALL_WAIT_MS = 300000,
	/* A shard that does not answer for a while may still do its job. */
	SILENCE_WAIT_MS = 30000,
	LOCK_STEP_MS = 100,
};

struct job {
	struct maintenance *maintenance;
	bool                asked, ended;
	enum err            refused; /* by the last MAINTENANCE_START */
	uint64_t            number, epoch, done, total;
	mono_us             heard, called; /* its last answer, or the start; when it was called last */
};

struct maintenance {
	struct cli                     *cli;
	const struct maintenance_order *order;
	const struct datadir           *datadir;
	struct job                      jobs[SHARDS_MAX];
	uint32_t                        count;
	mono_us                         moved; /* when progress was last seen */
};

uint64_t cli_number(const msgpack_object *map, const char *key)
{
	const msgpack_object *value = msgpack_member(map, key);

	return value && value->type == MSGPACK_OBJECT_POSITIVE_INTEGER ? value->via.u64 : 0;
}

void cli_job_failed(struct cli *cli, uint32_t shard, enum err err, const msgpack_object *state)
{
	const msgpack_object *error = msgpack_member(state, "error");
	bool                  has_error = error && error->type == MSGPACK_OBJECT_STR && error->via.str.size;
	char                  message[200];

	if (err == ERR_STORAGE_FULL)
		snprintf(message, sizeof message, "Shard %u: There is no room left for its files.", shard);
	else if (has_error)
		snprintf(message, sizeof message, "Shard %u cannot read or write one of its files: %.*s.",
		         shard, (int)error->via.str.size, error->via.str.ptr);
	else
		snprintf(message, sizeof message, "Shard %u: %s", shard, err_message(err));
	cli_fail(cli, err, message);
}

/* Was a signal received, or has the service ended? Then the command fails, and all its jobs have ended. */
static bool must_end(struct maintenance *maintenance)
{
	bool is_gone = datadir_is_free(maintenance->datadir->fd, "lock");

	if (!interrupt_came() && !is_gone) return false;
	for (uint32_t i = 0; i < maintenance->count; i++)
		maintenance->jobs[i].ended = true;
	if (interrupt_came())
		cli_fail(maintenance->cli, ERR_STOPPED, NULL);
	else
		cli_fail(maintenance->cli, ERR_NOT_RUNNING, "The service has ended meanwhile.");
	return true;
}

static void fail(struct job *job, uint32_t shard, enum err err, const char *what)
{
	char message[200];

	job->ended = true;
	if (must_end(job->maintenance)) return;
	snprintf(message, sizeof message, "Shard %u: %s", shard, what ? what : err_message(err));
	cli_fail(job->maintenance->cli, err, message);
}

static void on_asked(void *user, uint32_t shard, const struct reply *reply)
{
	struct job           *job = user;
	const msgpack_object *text = reply->payload;
	bool                  has_text = text && text->type == MSGPACK_OBJECT_STR && text->via.str.size;
	char                  what[160];

	job->refused = reply->err;
	if (reply->err == ERR_RESOURCE_CONFLICT || reply->err == ERR_OVERLOADED) return;
	if (reply->err) {
		snprintf(what, sizeof what, "%.*s", (int)(has_text ? text->via.str.size : 0),
		         has_text ? text->via.str.ptr : "");
		fail(job, shard, reply->err, has_text ? what : NULL);
		return;
	}
	job->asked = true;
	job->heard = time_mono();
	job->number = cli_number(reply->payload, "number");
	job->epoch = cli_number(reply->payload, "epoch");
}

static enum err code_read(const msgpack_object *state)
{
	const msgpack_object *code = msgpack_member(state, "code");

	if (!code || code->type != MSGPACK_OBJECT_STR) return ERR_MALFORMED;
	if (code->via.str.size == 0) return OK;
	for (unsigned err = 1; err < ERR_COUNT; err++)
		if (span_is(span_of(code->via.str.ptr, code->via.str.size), err_code((enum err)err)))
			return (enum err)err;
	return ERR_MALFORMED;
}

static void on_state(void *user, uint32_t shard, const struct reply *reply)
{
	struct job           *job = user;
	const msgpack_object *running;
	uint64_t              done;

	mono_us now = time_mono();
	/* This command was stopped itself: a call ends in a shorter time. */
	if (mono_since(now, job->called).v > 2 * CALL_DEADLINE_MS * US_PER_MS) job->heard = now;
	bool may_answer_later = reply->err == ERR_SHARD_UNAVAILABLE || reply->err == ERR_OVERLOADED;
	if (may_answer_later && mono_since(now, job->heard).v < SILENCE_WAIT_MS * US_PER_MS) return;
	if (reply->err) {
		fail(job, shard, reply->err, NULL);
		return;
	}
	job->heard = now;
	if (cli_number(reply->payload, "epoch") != job->epoch ||
	    cli_number(reply->payload, "number") != job->number) {
		fail(job, shard, ERR_SHARD_UNAVAILABLE, "It was restarted meanwhile.");
		return;
	}
	running = msgpack_member(reply->payload, "running");
	done = cli_number(reply->payload, "done");
	if (done != job->done) job->maintenance->moved = time_mono();
	job->done = done;
	job->total = cli_number(reply->payload, "total");
	if (running && running->type == MSGPACK_OBJECT_BOOLEAN && running->via.boolean) return;
	job->ended = true;
	job->maintenance->moved = time_mono();
	job->maintenance->order->on_end(job->maintenance->order->user, shard, code_read(reply->payload),
	                                reply->payload);
}

static void rpc(struct maintenance *maintenance, uint32_t shard, struct span args)
{
	struct job      *job = &maintenance->jobs[shard];
	struct call_spec request = {.message = job->asked ? MSG_MAINTENANCE_STATUS : MSG_MAINTENANCE_START,
	                            .shard = &shard};
	enum err         err;

	if (job->ended || must_end(maintenance)) return;
	if (!job->asked) request.args = args;
	job->called = time_mono();
	err = service_call(maintenance->cli->service, &request, job->asked ? on_state : on_asked, job);
	if (err) fail(job, shard, err, NULL);
}

/* Shows the progress of all; false if all have ended. */
static bool look(struct maintenance *maintenance)
{
	uint64_t done = 0, total = 0;
	bool     all_ended = true;

	for (uint32_t i = 0; i < maintenance->count; i++) {
		const struct job *job = &maintenance->jobs[i];
		done += job->done;
		total += job->total;
		all_ended &= job->ended;
	}
	bar_show(maintenance->order->bar, done, total);
	return !all_ended;
}

/* Gives up on shards that stay busy, or whose job makes no progress. */
static void give_up(struct maintenance *maintenance, mono_us now)
{
	int64_t waited = mono_since(now, maintenance->moved).v / US_PER_MS;

	for (uint32_t i = 0; i < maintenance->count; i++) {
		struct job *job = &maintenance->jobs[i];
		if (job->ended) continue;
		if (!job->asked && waited > BUSY_WAIT_MS)
			fail(job, i, job->refused,
			     job->refused == ERR_RESOURCE_CONFLICT ? "It is busy with another job." : NULL);
		if (job->asked && waited > STALL_WAIT_MS)
			fail(job, i, ERR_SHARD_UNAVAILABLE, "Its job does not go on.");
	}
}

static enum outcome ask_and_wait(struct maintenance *maintenance)
{
	struct timespec pause = {.tv_nsec = ASK_EVERY_MS * 1000000L};
	struct buffer   args = {0};
	msgpack_packer  packer = buffer_packer(&args);

	msgpack_pack_array(&packer, ARGS_MAINTENANCE_START);
	pack_text(&packer, maintenance->order->what);
	if (maintenance->order->dir)
		pack_text(&packer, maintenance->order->dir);
	else
		msgpack_pack_nil(&packer);
	if (maintenance->order->place)
		pack_text(&packer, maintenance->order->place);
	else
		msgpack_pack_nil(&packer);
	if (args.failed) return cli_fail(maintenance->cli, ERR_NO_MEMORY, NULL);
	maintenance->moved = time_mono();
	for (;;) {
		for (uint32_t i = 0; i < maintenance->count; i++)
			rpc(maintenance, i, buffer_span(&args));
		give_up(maintenance, time_mono());
		if (!look(maintenance)) break;
		nanosleep(&pause, NULL);
	}
	buffer_free(&args);
	return maintenance->cli->err ? FAILED : DONE;
}

/* Takes the lock of maintenance, which is held until the directory is closed. */
static enum err await_turn(const struct datadir *datadir)
{
	enum err err = ERR_LOCKED;

	for (int waited_ms = 0; err == ERR_LOCKED && waited_ms < BUSY_WAIT_MS && !interrupt_came();
	     waited_ms += LOCK_STEP_MS)
		err = datadir_lock_dir(datadir->run_fd, LOCK_STEP_MS);
	return interrupt_came() ? ERR_STOPPED : err;
}

enum outcome cli_maintain(struct cli *cli, const struct maintenance_order *order)
{
	struct datadir     datadir;
	struct maintenance maintenance = {
	    .cli = cli, .order = order, .datadir = &datadir, .count = service_shards(cli->service)};
	enum outcome outcome;
	enum err     err = datadir_open(cli->data, &datadir);

	for (uint32_t i = 0; i < maintenance.count; i++)
		maintenance.jobs[i].maintenance = &maintenance;
	if (!err) err = await_turn(&datadir);
	if (err == ERR_LOCKED)
		outcome = cli_fail(cli, ERR_RESOURCE_CONFLICT,
		                   "Another backup or verification is under way.");
	else
		outcome = err ? cli_fail(cli, err, NULL) : ask_and_wait(&maintenance);
	datadir_close(&datadir);
	return outcome;
}
