/* The timer: what takes time, done for the shards, by a process that keeps nothing. It holds a session with
 * each shard, tells each every HEARTBEAT_EVERY_MS that the issuer is there, and answers their PREPARE calls.
 * Nothing is fetched yet, so a pass is prepared as soon as that is asked. */
#include "actors/roles.h"
#include "actors/ask/child.h"
#include "actors/rt/log.h"
#include "actors/rt/time.h"
#include "schemas/fields.h"
#include "schemas/limits.h"

#include <stdlib.h>

enum { MESSAGES_A_TURN = 64 };

struct timer {
	struct child     child;
	struct loop      loop;
	struct ask      *shards[SHARDS_MAX];
	uint32_t         shard_count;
	mono_us          heartbeat_due;
	struct frame_out answers; /* of the frame being answered; kept for its memory */
};

/* Heartbeats only say that we are here: what a shard answers changes nothing. */
static void on_reply(void *user, const struct reply *reply)
{
	(void)user, (void)reply;
}

/* With nothing to fetch, yes is all there is to say. */
static void on_PREPARE(const struct call *call, struct frame_out *answers)
{
	frame_reply(answers, call->id, OK, 0, span_of(NULL, 0));
	msgpack_packer packer = frame_out_packer(answers);
	msgpack_pack_map(&packer, 0);
}

static void refuse(uint64_t id, struct frame_out *answers)
{
	frame_reply(answers, id, ERR_MALFORMED, 0, span_of(NULL, 0));
	msgpack_packer packer = frame_out_packer(answers);
	msgpack_pack_nil(&packer);
}

static void on_calls(void *user, struct ask *ask, const struct frame *frame)
{
	struct timer *timer = user;
	frame_clear(&timer->answers);
	for (uint32_t i = 0; i < frame->count; i++) {
		struct call call;
		if (!call_open(&frame->items[i], &call) && call.message == MSG_PREPARE)
			on_PREPARE(&call, &timer->answers);
		else
			refuse(call.id, &timer->answers);
	}
	struct span replies = frame_seal_replies(&timer->answers, frame->epoch);
	/* Lost answers need no word: the shard is gone, or stops waiting after PREPARE_DEADLINE_MS. */
	if (replies.size > 0) (void)!ask_send(ask, replies);
}

static enum err timer_open(struct timer *timer, const struct options *options)
{
	enum err err;
	if ((err = child_begin(&timer->child, options, ROLE_TIMER))) return err;
	if ((err = loop_open(&timer->loop))) return err;
	if ((err = loop_watch(&timer->loop, child_fd(&timer->child)))) return err;
	for (uint32_t shard = 0; shard < options->shards && shard < SHARDS_MAX; shard++) {
		struct ask *ask = NULL;
		char        endpoint[ENDPOINT_TEXT];
		datadir_shard_endpoint(&timer->child.datadir, shard, endpoint);
		if ((err = ask_open(&ask, endpoint, ROLE_TIMER, (uint32_t)options->index, on_reply)))
			return err;
		timer->shards[timer->shard_count++] = ask;
		ask_serve(ask, on_calls, timer);
		if ((err = loop_watch(&timer->loop, ask_fd(ask)))) return err;
		if ((err = loop_watch(&timer->loop, ask_link_fd(ask)))) return err;
	}
	return OK;
}

static void timer_close(struct timer *timer)
{
	for (uint32_t shard = 0; shard < timer->shard_count; shard++)
		ask_close(&timer->shards[shard]);
	buffer_free(&timer->answers.bytes);
	loop_close(&timer->loop);
	child_end(&timer->child);
}

static bool all_are_up(const struct timer *timer)
{
	for (uint32_t shard = 0; shard < timer->shard_count; shard++)
		if (ask_state(timer->shards[shard]) != ASK_UP) return false;
	return true;
}

/* A shard that is not there, or has no room, misses a beat: it counts those that come. */
static void heartbeat(struct ask *ask, mono_us now)
{
	struct call    call = {.message = MSG_HEARTBEAT};
	msgpack_packer packer;
	call.deadline = mono_after(now, (dur_us){HEARTBEAT_LOST_MS * US_PER_MS});
	if (ask_begin(ask, &call, NULL, &packer)) return;
	msgpack_pack_array(&packer, ARGS_HEARTBEAT);
	ask_commit(ask);
}

static void heartbeats(struct timer *timer, mono_us now)
{
	if (now.v < timer->heartbeat_due.v) return;
	timer->heartbeat_due = mono_after(now, (dur_us){HEARTBEAT_EVERY_MS * US_PER_MS});
	for (uint32_t shard = 0; shard < timer->shard_count; shard++)
		heartbeat(timer->shards[shard], now);
}

/* One turn: true when there is more to do at once. */
static bool turn(struct timer *timer, mono_us now)
{
	bool more = false;
	heartbeats(timer, now);
	for (uint32_t shard = 0; shard < timer->shard_count; shard++) {
		ask_flush(timer->shards[shard], now);
		more |= ask_pump(timer->shards[shard], now, MESSAGES_A_TURN);
	}
	child_report(&timer->child, all_are_up(timer) ? "ready" : "starting", 0, now);
	return more;
}

int timer_main(const struct options *options)
{
	enum err      err;
	struct timer *timer = calloc(1, sizeof(*timer));
	if (!timer) return 1;
	timer->loop.epoll_fd = -1;
	if ((err = timer_open(timer, options))) {
		log_fatal("timer_start", "err=%s", err_code(err));
		goto out;
	}
	log_info("timer_started", "shards=%u", timer->shard_count);
	while (!child_stopping(&timer->child)) {
		bool more = turn(timer, time_mono());
		loop_wait(&timer->loop, (dur_us){more ? 0 : CHILD_TURN_MS * US_PER_MS});
	}
	log_info("timer_stopped", "orderly=1");
out:
	timer_close(timer);
	free(timer);
	return err ? 1 : 0;
}
