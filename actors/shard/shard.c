/* A shard: owner of its part of the accounts. This file is the process: it locks its directory, recovers the store, only then
 * binds its endpoint, and turns the engine until it is stopped. */
#include "actors/roles.h"
#include "actors/rpc/child.h"
#include "actors/rt/log.h"
#include "actors/rt/needs.h"
#include "actors/rt/socket_file.h"
#include "actors/rt/time.h"
#include "actors/shard/engine/engine.h"
#include "actors/shard/pages.h"
#include "actors/shard/shard_dir_of.h"
#include "schemas/bytes.h"
#include "schemas/mexico.h"
#include "schemas/sha256.h"
#include "schemas/wallet/sealing.h"
#include "store/disk_monitor.h"
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LOCK_WAIT_MS = 5000,
	DRAIN_MS = 3000,
	GAP_LOG_S = 60,        /* logs service time that differs from the wall clock by more */
	LACK_LOG_S = 10,       /* between two lines about what the store lacks, if only errno differs */
	MEND_AGAIN_MS = 60000, /* rebuilt tables are not rebuilt again earlier */
	GATE_LOG_MS = 1000,    /* logs a longer wait for the other shards */
};

_Static_assert(NEEDS_SHARD_BYTES == 2 * SHARD_SEGMENT_BYTES + RESERVE_AHEAD_BYTES &&
                   NEEDS_FLOOR_BYTES == DISK_SOFT_FLOOR_BYTES &&
                   NEEDS_FILE_BYTES > RESERVE_AHEAD_BYTES + DISK_SOFT_FLOOR_BYTES &&
                   NEEDS_FILE_BYTES >= SHARD_SEGMENT_BYTES,
               "needs.h differs from what a shard takes");

struct shard {
	struct child       child;
	struct engine     *engine; /* large: on the heap */
	struct store      *store;
	struct channel    *channel;
	struct socket_file socket_file;
	struct loop        loop, disk_loop; /* of all descriptors; of all but the channel's */
	int                dir_fd, lock_fd, gate_fd;
	wall_us            last_now; /* the latest time in the journal */
	bool               differs;  /* it was logged that service time does */
	const char        *lacks;    /* logged last, of store_lacks(), and its errno */
	int                error;
	mono_us            lacks_logged;
	bool has_links; /* a directory that exists has one, which some file systems do not say */
	bool is_logged; /* the reason why it did not start was logged */
};

static enum err open_place(struct shard *shard, const struct options *options)
{
	char name[32];
	snprintf(name, sizeof name, "shards/%d", options->index);
	shard->dir_fd = openat(shard->child.datadir.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (shard->dir_fd < 0) {
		shard->is_logged = true;
		log_fatal("shard_missing", "place=%s error=\"%s\"", name, strerror(errno));
		return ERR_DAMAGED;
	}
	enum err err = datadir_lock(shard->dir_fd, "lock", LOCK_WAIT_MS, &shard->lock_fd);
	if (!err) err = datadir_lock_dir(shard->dir_fd, LOCK_WAIT_MS);
	if (err) {
		shard->is_logged = true;
		log_fatal("shard_locked", "place=%s code=%s reason=\"%s\"", name, err_code(err),
		          err == ERR_LOCKED ? "another process, or another shard, works there"
		                            : strerror(errno));
	}
	return err;
}

static void log_opened(const struct store_report *report)
{
	log_info("store_open",
	         "epoch=%llu seq=%llu replayed=%llu cut_tail=%d formatted=%d rebuilt=%d snapshot_seq=%llu",
	         (unsigned long long)report->epoch, (unsigned long long)report->seq,
	         (unsigned long long)report->replayed_records, report->cut_tail, report->formatted,
	         report->rebuilt, (unsigned long long)report->snapshot_seq);
	if (report->refused[0]) log_warn("tables_refused", "what=\"%s\" next=\"rebuilt\"", report->refused);
	if (report->snapshots_refused) log_warn("snapshots_refused", "count=%u", report->snapshots_refused);
	if (report->file_system[0])
		log_warn("file_system", "kind=%s reason=\"syncs may mean less than on ext4 or xfs\"",
		         report->file_system);
}

static void take_settings(struct shard *shard)
{
	struct settings settings;
	if (!child_take_settings(&shard->child, &settings)) return;
	options_egress(&settings.options, &shard->engine->facts.url_rules);
	shard->engine->facts.idempotency_keys = settings.options.idempotency_keys;
	child_settled(&shard->child, &settings);
	settings_free(&settings);
}

/* The gate opens when all shards of a service have checked their directories; for a restarted shard it is open. Errors:
 * ERR_STOPPED (stopped before). */
static enum err await_gate(struct shard *shard, struct loop *loop)
{
	enum err err = loop_watch(loop, child_fd(&shard->child));
	if (!err) err = loop_watch(loop, shard->gate_fd);
	if (err) return err;
	mono_us began = time_mono(), now = began;
	bool    is_logged = false;
	for (loop_wait(loop, (dur_us){0}); !loop_is_ready(loop, shard->gate_fd); now = time_mono()) {
		child_report(&shard->child, "judged", 0, now);
		take_settings(shard);
		if (child_stopping(&shard->child)) return ERR_STOPPED;
		if (!is_logged && mono_since(now, began).v > GATE_LOG_MS * US_PER_MS) {
			is_logged = true;
			log_info("start_delayed",
			         "waits_for=\"shards that have not finished their start-up checks\"");
		}
		loop_wait(loop, (dur_us){CHILD_TURN_MS * US_PER_MS});
		child_look(&shard->child, loop);
	}
	return OK;
}

/* If one shard refuses, the directories of all are unchanged. */
static enum err before_change(void *user)
{
	struct loop loop;
	enum err    err = loop_open(&loop);
	if (!err) err = await_gate(user, &loop);
	loop_close(&loop);
	return err;
}

static enum err open_store(struct shard *shard, const struct options *options)
{
	struct store_report report;
	struct shard_dir    shard_dir = shard_dir_of(&shard->child.datadir, (uint32_t)options->index,
	                                             shard->dir_fd);
	shard_dir.may_format = options->may_format; /* false once all have been ready */
	shard_dir.restored = options->restored;
	shard_dir.memory_bytes = (uint64_t)options->memory_bytes;
	shard_dir.before_change = before_change;
	shard_dir.user = shard;
	wall_us  wall = time_wall();
	enum err err = store_open(&shard_dir, wall, &shard->store, &report);
	if (err) {
		shard->is_logged = true;
		if (err != ERR_STOPPED)
			log_fatal("store_refused", "code=%s what=\"%s\"", err_code(err), report.what);
		return err;
	}
	log_opened(&report);
	if (report.rebuilt) shard->engine->mend_again_at.v = time_mono().v + MEND_AGAIN_MS * US_PER_MS;
	shard->engine->facts.epoch = report.epoch;
	shard->engine->facts.tables_found = report.clean_mark;
	shard->engine->facts.tables_rebuilt = report.rebuilt;
	shard->last_now = report.last_now;
	return OK;
}

/* A start refuses such a key. A shard that is started again alone would stay away, so it only says so. */
static void look_at_exposure(const struct shard *shard)
{
	struct stat st;
	if (fstatat(shard->child.datadir.fd, "master.key", &st, 0) || !(st.st_mode & (S_IRWXG | S_IRWXO)))
		return;
	log_warn(
	    "master_key_readable",
	    "file=master.key mode=%04o wanted=0600 reason=\"others than its owner may read it, and the next "
	    "start is refused\"",
	    st.st_mode & 07777);
}

/* Only keys derived from the master key stay in memory. */
static enum err take_keys(struct shard *shard, struct shard_facts *facts)
{
	uint8_t  master_key[32];
	enum err err = datadir_master_key(&shard->child.datadir, master_key);
	if (err) {
		shard->is_logged = true;
		log_fatal("master_key_unusable", "file=master.key code=%s", err_code(err));
		return err;
	}
	look_at_exposure(shard);
	err = token_keys_derive(master_key, &shard->child.datadir.identity, &facts->tokens);
	if (!err) err = secret_key(master_key, "stampede webhook secrets 1", facts->webhook_key);
	if (!err) err = secret_key(master_key, "stampede erased ids 1", facts->erased_key);
	struct span lineage = span_of(shard->child.datadir.identity.lineage, LINEAGE_BYTES);
	uint8_t     shown[SHA256_BYTES];
	sha256_of(&lineage, 1, shown);
	facts->lineage = get_be64(shown);
	if (!err) err = secret_key(master_key, WALLET_CREDENTIAL_PURPOSE, facts->wallet_key);
	if (!err) err = serial_keys_derive(master_key, &facts->serials);
	explicit_bzero(master_key, sizeof master_key);
	return err;
}

/* Service time that is ahead stays ahead, and returns by a tenth of elapsed time. Logs that. */
static void begin_clock(struct shard *shard)
{
	wall_us wall = time_wall();
	int64_t ahead_s = (shard->last_now.v - wall.v) / US_PER_SEC;
	service_clock_begin(&shard->engine->clock, shard->last_now, wall, time_boot());
	if (ahead_s > GAP_LOG_S && !shard->engine->facts.test_clock)
		log_warn("service_time_ahead",
		         "seconds=%lld reason=\"it was set ahead, or the wall went back\"",
		         (long long)ahead_s);
	shard->differs = ahead_s > GAP_LOG_S;
}

static enum err open_loop(struct shard *shard, struct loop *loop)
{
	int      fds[] = {store_fd(shard->store), readers_fd(shard->engine->readers),
	                  readers_fd(shard->engine->signers), child_fd(&shard->child)};
	enum err err = loop_open(loop);
	for (unsigned i = 0; !err && i < sizeof fds / sizeof *fds; i++)
		err = loop_watch(loop, fds[i]);
	return err;
}

static enum err open_all(struct shard *shard, const struct options *options)
{
	char     endpoint[ENDPOINT_TEXT];
	enum err err;
	if (!(shard->engine = calloc(1, sizeof *shard->engine))) return ERR_NO_MEMORY;
	struct shard_facts *facts = &shard->engine->facts;
	facts->index = (uint32_t)options->index;
	facts->shards = shard->child.datadir.identity.shards;
	facts->public_url = options->public_url;
	facts->idempotency_keys = options->idempotency_keys;
	facts->test_clock = options->test_clock;
	facts->wallet_bulk_rate = options->wallet_bulk_rate;
	facts->no_deliveries = options->no_deliveries;
	facts->memory_bound = (uint64_t)options->memory_bytes;
	take_settings(shard);
	if ((err = take_keys(shard, facts))) return err;
	if ((err = open_place(shard, options))) return err;
	shard->has_links = !file_is_removed(shard->dir_fd);
	shard->gate_fd = options->gate_fd;
	pages_watch(shard->dir_fd);
	if ((err = open_store(shard, options))) return err;
	datadir_shard_endpoint(&shard->child.datadir, facts->index, endpoint);
	if ((err = socket_file_bind(&shard->socket_file, endpoint, &shard->channel))) return err;
	if ((err = engine_open(shard->engine, shard->store, shard->channel))) return err;
	begin_clock(shard);
	if ((err = open_loop(shard, &shard->disk_loop)) || (err = open_loop(shard, &shard->loop))) return err;
	return loop_watch(&shard->loop, channel_fd(shard->channel));
}

/* Service time, which follows the wall clock slowly: a jump shows for ten times as long. */
static wall_us look_at_clocks(struct shard *shard)
{
	struct engine *engine = shard->engine;
	wall_us        wall = time_wall(), now = service_clock_now(&engine->clock, wall, time_boot());
	int64_t        gap = wall.v - engine->clock.now_us, gap_s = gap / US_PER_SEC;
	bool           differs = gap_s > GAP_LOG_S || gap_s < -GAP_LOG_S;
	int64_t        jump = gap - atomic_load_explicit(&engine->facts.clock_gap, memory_order_relaxed);
	/* A virtual machine may go on from a picture of its memory, perhaps more than once. */
	if (jump > US_PER_SEC || jump < -US_PER_SEC) random_discard(&engine->random);
	atomic_store_explicit(&engine->facts.clock_gap, gap, memory_order_relaxed);
	if (differs && !shard->differs && !engine->facts.test_clock)
		log_warn(
		    "service_time_differs",
		    "seconds=%lld reason=\"the wall clock has jumped, and service time follows by a tenth of "
		    "the elapsed time\"",
		    (long long)gap_s);
	shard->differs = differs;
	return now;
}

static void log_snapshot(struct shard *shard)
{
	static struct snapshotter_state state; /* large */
	snapshotter_state(store_snapshotter(shard->store), &state);
	const char *error = state.failure == ERR_IO && state.failure_error ? strerror(state.failure_error)
	                                                                   : err_message(state.failure);
	if (state.failure == ERR_STORAGE_FULL)
		log_info("snapshot_failed", "code=%s", err_code(state.failure));
	else
		log_warn("snapshot_failed", "code=%s error=\"%s\"", err_code(state.failure), error);
}

/* What the store lacks, which is more than the files of the store if the whole directory is gone. */
static const char *look_for_lack(const struct shard *shard, int *error)
{
	const char *lacks = store_lacks(shard->store, error);
	if (!lacks || !shard->has_links || !file_is_removed(shard->dir_fd)) return lacks;
	*error = ENOENT;
	return "the shard's directory was removed while it is in use: what it holds can be read until it "
	       "stops";
}

/* A disk that is merely full is in status, metrics and refusals. Each sentence is one text; two reasons of the system may take
 * turns many times a second. */
static void look_at_disk(struct shard *shard, mono_us now)
{
	int         error;
	const char *lacks = look_for_lack(shard, &error);
	if (snapshotter_has_failed(store_snapshotter(shard->store))) log_snapshot(shard);
	bool is_other_error = error != shard->error &&
	                      mono_since(now, shard->lacks_logged).v > LACK_LOG_S * US_PER_SEC;
	if (lacks == shard->lacks && (!lacks || !is_other_error)) return;
	shard->lacks = lacks;
	shard->error = error;
	shard->lacks_logged = now;
	if (!lacks)
		log_info("storage_works", "reason=\"the next segment of the journal was created\"");
	else if (error == ENOSPC || error == EDQUOT)
		log_info("storage_fails", "error=\"%s\" reason=\"%s\"", strerror(error), lacks);
	else
		log_warn("storage_fails", "error=\"%s\" reason=\"%s\"", strerror(error), lacks);
}

/* Turns until stopped, then until everything decided is durable, within limits. */
static enum err run(struct shard *shard)
{
	struct engine *engine = shard->engine;
	mono_us        drained = {INT64_MAX};
	bool           more;
	for (;;) {
		mono_us  now = time_mono();
		wall_us  service_now = look_at_clocks(shard);
		enum err err = engine_turn(engine, now, service_now, &more);
		if (err) return err;
		child_report(&shard->child, "ready", engine->facts.epoch, now);
		take_settings(shard);
		look_at_disk(shard, now);
		socket_file_look(&shard->socket_file, now);
		if (child_stopping(&shard->child)) {
			if (drained.v == INT64_MAX) drained.v = now.v + DRAIN_MS * US_PER_MS;
			if (now.v >= drained.v || (engine_is_idle(engine) && !more)) return OK;
		}
		if (more)
			continue; /* the loop's other descriptors can wait for an idle turn, or CHILD_TURN_MS */
		struct loop *loop = engine_awaits_disk(engine) ? &shard->disk_loop : &shard->loop;
		loop_wait(loop, engine_patience(engine));
		child_look(&shard->child, loop);
	}
}

/* Exits at once without answers: recovery decides what happened. */
static _Noreturn void die(const struct shard *shard, enum err err)
{
	if (shard->store && store_blames_tables(shard->store, err)) {
		log_fatal("tables_withdrawn", "next=\"rebuilt from snapshot and journal\"");
		clean_mark_remove(shard->dir_fd);
	}
	_exit(1);
}

static enum err refuse_zone(void)
{
	log_fatal("time_zone", "zone=America/Mexico_City reason=\"the system's time zone data lack it\"");
	return ERR_UNSUPPORTED;
}

static void log_failure(const struct engine *engine, enum err err)
{
	if (engine->save_error) err = engine->save_error;
	log_fatal("shard_failed", "code=%s error=\"%s\"", err_code(err), err_cause(err));
}

int shard_main(const struct options *options)
{
	static struct shard shard = {.dir_fd = -1, .lock_fd = -1, .loop = {-1}, .disk_loop = {-1}};
	bool                has_zone = mexico_begin(); /* before there is another thread */
	enum err            err = child_begin(&shard.child, options, ROLE_SHARD); /* opens the log */
	if (!err && !(err = has_zone ? needs_libcurl() : refuse_zone()) &&
	    (err = open_all(&shard, options)) && !shard.is_logged)
		log_fatal("shard_not_started", "code=%s error=\"%s\"", err_code(err), err_cause(err));
	if (err == ERR_STOPPED) _exit(0); /* stopped before it changed anything */
	if (!err && (err = run(&shard))) log_failure(shard.engine, err);
	if (err) die(&shard, err);
	if (shard.engine) engine_close(shard.engine);
	channel_close(&shard.channel);
	store_close(&shard.store);
	child_end(&shard.child);
	loop_close(&shard.loop);
	loop_close(&shard.disk_loop);
	free(shard.engine);
	return 0;
}
