/* A shard: owner of its part of the accounts. This file is the process: locks its place, recovers the store,
 * binds its endpoint only then, and turns the engine until it is told to stop. */
#include "actors/roles.h"
#include "actors/ask/child.h"
#include "actors/rt/log.h"
#include "actors/rt/time.h"
#include "actors/shard/engine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 5000, DRAIN_MS = 3000 };
static const uint64_t segment_bytes = UINT64_C(16) << 20, map_bytes = UINT64_C(1) << 40;

struct shard {
	struct child    child;
	struct engine  *engine; /* large: on the heap */
	struct store   *store;
	struct mailbox *mailbox;
	struct loop     loop;
	int             dir_fd, lock_fd;
	bool            told; /* why it did not start has been logged */
};

static enum err open_place(struct shard *shard, const struct options *options)
{
	char name[32];
	snprintf(name, sizeof name, "shards/%d", options->index);
	shard->dir_fd = openat(shard->child.datadir.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (shard->dir_fd < 0) {
		shard->told = true;
		log_fatal("shard_missing", "place=%s", name);
		return ERR_DAMAGED;
	}
	enum err err = datadir_lock(shard->dir_fd, "lock", LOCK_WAIT_MS, &shard->lock_fd);
	if (err) {
		shard->told = true;
		log_fatal("shard_locked", "place=%s code=%s", name, err_code(err));
	}
	return err;
}

static enum err open_store(struct shard *shard, const struct options *options)
{
	struct store_report report;
	struct store_place  place = {.dir_fd = shard->dir_fd,
	                             .shard = (uint16_t)options->index,
	                             .may_format = options->may_format,
	                             .segment_bytes = segment_bytes,
	                             .map_bytes = map_bytes};
	memcpy(place.lineage, shard->child.datadir.identity.lineage, sizeof place.lineage);
	wall_us  wall = time_wall();
	enum err err = store_open(&place, wall, &shard->store, &report);
	if (err) {
		shard->told = true;
		log_fatal("store_refused", "code=%s what=\"%s\"", err_code(err), report.what);
		return err;
	}
	log_info("store_open", "epoch=%llu seq=%llu replayed=%llu cut_tail=%d formatted=%d rebuilt=%d",
	         (unsigned long long)report.epoch, (unsigned long long)report.seq,
	         (unsigned long long)report.replayed_records, report.cut_tail, report.formatted,
	         report.rebuilt);
	shard->engine->facts.epoch = report.epoch;
	service_clock_begin(&shard->engine->clock, report.last_now, wall, time_boot());
	return OK;
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
	if ((err = datadir_master_key(&shard->child.datadir, facts->master_key))) {
		shard->told = true;
		log_fatal("master_key_unusable", "file=master.key code=%s", err_code(err));
		return err;
	}
	if ((err = open_place(shard, options)) || (err = open_store(shard, options))) return err;
	datadir_shard_endpoint(&shard->child.datadir, facts->index, endpoint);
	if ((err = mailbox_bind(&shard->mailbox, endpoint))) return err;
	if ((err = engine_open(shard->engine, shard->store, shard->mailbox))) return err;
	int fds[] = {mailbox_fd(shard->mailbox), store_fd(shard->store), readers_fd(shard->engine->readers),
	             child_fd(&shard->child)};
	if ((err = loop_open(&shard->loop))) return err;
	for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
		if ((err = loop_watch(&shard->loop, fds[i]))) return err;
	return OK;
}

/* Turns until told to stop, then as long as something decided is not durable yet, within bounds. */
static enum err run(struct shard *shard)
{
	struct engine *engine = shard->engine;
	mono_us        drained = {INT64_MAX};
	bool           more;
	for (;;) {
		mono_us  now = time_mono();
		wall_us  service_now = service_clock_now(&engine->clock, time_wall(), time_boot());
		enum err err = engine_turn(engine, now, service_now, &more);
		if (err) return err;
		child_report(&shard->child, "ready", engine->facts.epoch, now);
		if (child_stopping(&shard->child)) {
			if (drained.v == INT64_MAX) drained.v = now.v + DRAIN_MS * US_PER_MS;
			if (now.v >= drained.v || (engine_is_idle(engine) && !more)) return OK;
		}
		loop_wait(&shard->loop, more ? (dur_us){0} : engine_patience(engine));
	}
}

int shard_main(const struct options *options)
{
	static struct shard shard = {.dir_fd = -1, .lock_fd = -1, .loop = {-1}};
	enum err            err = child_begin(&shard.child, options, ROLE_SHARD);
	if (!err && (err = open_all(&shard, options)) && !shard.told)
		log_fatal("shard_not_started", "code=%s", err_code(err));
	if (!err && (err = run(&shard))) log_fatal("shard_failed", "code=%s", err_code(err));
	if (err) _exit(1); /* not another word to anyone: recovery will tell what happened */
	if (shard.engine) engine_close(shard.engine);
	mailbox_close(&shard.mailbox);
	store_close(&shard.store);
	child_end(&shard.child);
	loop_close(&shard.loop);
	free(shard.engine);
	return 0;
}
