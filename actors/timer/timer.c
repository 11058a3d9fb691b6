/* The timer does slow work for the shards, in a process without state. It holds a session with each shard and sends it a
 * heartbeat every HEARTBEAT_EVERY_MS. It fetches the images that shards ask for, reduces those that wallets show, makes the
 * delivery attempts that they lease, and pushes to the phones whose passes have changed. */
#include "actors/roles.h"
#include "actors/rpc/child.h"
#include "actors/rt/counts.h"
#include "actors/rt/log.h"
#include "actors/rt/needs.h"
#include "actors/rt/random.h"
#include "actors/rt/time.h"
#include "actors/timer/deliver.h"
#include "actors/timer/fetch.h"
#include "actors/timer/notify.h"
#include "actors/timer/own.h"
#include "actors/timer/googling.h"
#include "actors/timer/pushing.h"
#include "actors/timer/shaping.h"
#include "schemas/api/system.h"
#include "schemas/limits.h"
#include "schemas/wallet/sealing.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGES_A_TURN = 64, OWN_EVERY_S = 60 };
enum { DRAIN_MS = 3000, LAST_WORDS_MS = 500 }; /* at a stop: time for attempts to end, for their reports */

struct timer {
	struct child         child;
	struct loop          loop;
	struct rpc          *shards[SHARDS_MAX];
	struct deliver      *deliveries[SHARDS_MAX];
	struct fetching     *fetches[SHARDS_MAX];
	struct notify       *notices[SHARDS_MAX];
	struct pushing      *pushings[SHARDS_MAX];
	struct googling     *googlings[SHARDS_MAX];
	struct shaping      *shapings[SHARDS_MAX];
	struct shaper       *shaper;
	uint32_t             fetches_in_hand;
	uint64_t             instance; /* random number of this process */
	uint32_t             shard_count;
	mono_us              heartbeat_due, own_due;
	struct frame_out     answers; /* to the current frame; kept for its memory */
	struct egress       *egress;
	struct apns         *apns;
	struct google       *google;
	uint8_t              wallet_key[SECRET_KEY_BYTES]; /* opens credentials */
	bool                 lacks_roots;
	bool                 has_news; /* egress ended something in this turn */
	struct address_rules rules;    /* used by egress */
	bool                 is_mute;  /* no endpoint is called: --no-deliveries */
};

/* Replies to heartbeats need no action. */
static void on_reply(void *user, const struct reply *reply)
{
	struct asked *asked = user;
	if (asked) asked->on_reply(asked, reply);
}

/* Answered when the image is stored or unobtainable. */
static void on_FETCH(struct timer *timer, struct rpc *rpc, const struct call *call, uint64_t epoch)
{
	uint32_t shard = 0;
	while (timer->shards[shard] != rpc)
		shard++;
	fetching_begin(timer->fetches[shard], call, epoch, time_mono());
}

static void refuse(uint64_t id, struct frame_out *answers)
{
	frame_reply(answers, id, ERR_MALFORMED, 0, span_of(NULL, 0));
	msgpack_packer packer = frame_out_packer(answers);
	msgpack_pack_nil(&packer);
}

static void on_calls(void *user, struct rpc *rpc, const struct frame *frame)
{
	struct timer *timer = user;
	frame_clear(&timer->answers);
	for (uint32_t i = 0; i < frame->count; i++) {
		struct call call;
		enum err    err = call_open(&frame->items[i], &call);
		if (!err && call.message == MSG_FETCH && call.has_account)
			on_FETCH(timer, rpc, &call, frame->epoch);
		else
			refuse(call.id, &timer->answers);
	}
	/* A lost answer is not repeated: the shard is down, or stops waiting at the call's deadline. */
	if (timer->answers.count) (void)!rpc_answer(rpc, &timer->answers, frame->epoch);
}

static void on_egress_done(void *user, const struct egress_outcome *outcome)
{
	struct timer      *timer = user;
	struct egress_job *job = outcome->user;
	timer->has_news = true;
	if (outcome->is_news && outcome->error)
		log_info("endpoint_fails", "endpoint=%s error=%s detail=\"%s\"", outcome->host,
		         attempt_word(outcome->error), attempt_detail_text(outcome->detail));
	else if (outcome->is_news)
		log_info("endpoint_answers", "endpoint=%s", outcome->host);
	job->on_done(job, outcome);
}

/* A missing entry would let a public address of this host be called; after an error it tries again. */
static void read_own_addresses(struct timer *timer, mono_us now)
{
	enum err err;

	if (now.v < timer->own_due.v) return;
	timer->own_due = mono_after(now, (dur_us){OWN_EVERY_S * US_PER_SEC});
	if ((err = own_addresses(&timer->rules))) log_warn("own_addresses", "code=%s", err_code(err));
}

/* Logs missing roots once, and when they are back. */
static void look_at_roots(struct timer *timer)
{
	bool lacks_roots = !egress_has_roots(timer->egress);

	if (lacks_roots == timer->lacks_roots) return;
	timer->lacks_roots = lacks_roots;
	if (lacks_roots)
		log_warn(
		    "no_root_certificates",
		    "reason=\"no endpoint over TLS can be verified: install the package ca-certificates\"");
	else
		log_info("root_certificates", "reason=\"they have been installed\"");
}

/* The ranges that may be called; this host's own addresses are kept. */
static void take_rules(struct timer *timer, const struct options *options)
{
	struct address_rules rules;

	options_egress(options, &rules);
	memcpy(rules.own, timer->rules.own, sizeof rules.own);
	rules.own_count = timer->rules.own_count;
	timer->rules = rules;
}

static enum err open_egress(struct timer *timer)
{
	struct egress_options egress = {.rules = &timer->rules, .done = on_egress_done, .context = timer};
	struct settings       settings;
	enum err              err;

	if (!child_take_settings(&timer->child, &settings)) return ERR_PEER_GONE;
	egress.ca = settings.files[SETTINGS_CA];
	take_rules(timer, &settings.options);
	read_own_addresses(timer, time_mono());
	if (!(err = egress_open(&timer->egress, &egress))) child_settled(&timer->child, &settings);
	if (err == ERR_BAD_OPTION) log_fatal("egress_ca", "reason=\"no certificate can be read\"");
	settings_free(&settings);
	return err ? err : loop_watch(&timer->loop, egress_fd(timer->egress));
}

/* Takes settings that have arrived. */
static void take_settings(struct timer *timer)
{
	struct settings settings;
	enum err        err;

	if (!child_take_settings(&timer->child, &settings)) return;
	take_rules(timer, &settings.options);
	if ((err = egress_trust(timer->egress, settings.files[SETTINGS_CA])))
		log_warn("egress_ca", "code=%s", err_code(err));
	else
		child_settled(&timer->child, &settings);
	settings_free(&settings);
}

static enum err open_shard(struct timer *timer, const struct options *options, uint32_t shard)
{
	struct rpc *rpc = NULL;
	char        endpoint[ENDPOINT_TEXT];
	datadir_shard_endpoint(&timer->child.datadir, shard, endpoint);
	enum err err = rpc_open(&rpc, endpoint, ROLE_TIMER, (uint32_t)options->index, on_reply);
	if (err) return err;
	timer->shards[timer->shard_count++] = rpc;
	rpc_serve(rpc, on_calls, timer);
	if ((err = deliver_open(&timer->deliveries[shard], rpc, timer->egress, timer->instance,
	                        LEASES_MAX / options->shards)))
		return err;
	if ((err = fetching_open(&timer->fetches[shard], rpc, timer->egress, &timer->rules,
	                         &timer->fetches_in_hand)))
		return err;
	if ((err = notify_open(&timer->notices[shard], rpc))) return err;
	struct pushing_options pushing = {.rpc = rpc,
	                                  .apns = timer->apns,
	                                  .instance = timer->instance,
	                                  .places = PUSHES_IN_HAND_MAX / options->shards,
	                                  .key = timer->wallet_key};
	if ((err = pushing_open(&timer->pushings[shard], &pushing))) return err;
	struct googling_options googling = {.rpc = rpc,
	                                    .google = timer->google,
	                                    .egress = timer->egress,
	                                    .instance = timer->instance,
	                                    .key = timer->wallet_key,
	                                    .keys_url = options->wallet_google_keys};
	if ((err = googling_open(&timer->googlings[shard], &googling))) return err;
	if ((err = shaping_open(&timer->shapings[shard], rpc, timer->shaper))) return err;
	if ((err = loop_watch(&timer->loop, rpc_fd(rpc)))) return err;
	return loop_watch(&timer->loop, rpc_link_fd(rpc));
}

static enum err take_key(struct timer *timer)
{
	uint8_t  master_key[32];
	enum err err = datadir_master_key(&timer->child.datadir, master_key);
	if (!err) err = secret_key(master_key, WALLET_CREDENTIAL_PURPOSE, timer->wallet_key);
	explicit_bzero(master_key, sizeof master_key);
	if (err) log_fatal("master_key_unusable", "file=master.key code=%s", err_code(err));
	return err;
}

static enum err open_apns(struct timer *timer, const struct options *options)
{
	char                host[HOST_TEXT];
	struct apns_options apns = {
	    .rules = &timer->rules, .trust = egress_authorities(timer->egress), .host = host};
	if (!host_port_read(options->wallet_apns, host, &apns.port)) return ERR_BAD_OPTION;
	enum err err = apns_open(&timer->apns, &apns);
	return err ? err : loop_watch(&timer->loop, apns_fd(timer->apns));
}

static enum err timer_open(struct timer *timer, const struct options *options)
{
	struct random_pool random = {.left = 0};
	enum err           err;
	random_take(&random, &timer->instance, sizeof timer->instance);
	timer->instance = timer->instance >> 1 | 1;
	timer->is_mute = options->no_deliveries;
	if ((err = loop_open(&timer->loop))) return err;
	if ((err = loop_watch(&timer->loop, child_fd(&timer->child)))) return err;
	if ((err = open_egress(timer))) return err;
	if ((err = take_key(timer))) return err;
	if ((err = open_apns(timer, options))) return err;
	const struct google_options google = {.egress = timer->egress, .api = options->wallet_google};
	if ((err = google_open(&timer->google, &google))) return err;
	if ((err = shaper_open(&timer->shaper))) return err;
	if ((err = loop_watch(&timer->loop, shaper_fd(timer->shaper)))) return err;
	for (uint32_t shard = 0; shard < options->shards && shard < SHARDS_MAX && !err; shard++)
		err = open_shard(timer, options, shard);
	return err;
}

static void timer_close(struct timer *timer)
{
	shaper_close(&timer->shaper);
	for (uint32_t shard = 0; shard < timer->shard_count; shard++) {
		deliver_close(&timer->deliveries[shard]);
		fetching_close(&timer->fetches[shard]);
		notify_close(&timer->notices[shard]);
		shaping_close(&timer->shapings[shard]);
		pushing_close(&timer->pushings[shard]);
		googling_close(&timer->googlings[shard]);
		rpc_close(&timer->shards[shard]);
	}
	buffer_free(&timer->answers.bytes);
	apns_close(&timer->apns);
	google_close(&timer->google);
	egress_close(&timer->egress);
	explicit_bzero(timer->wallet_key, sizeof timer->wallet_key);
	loop_close(&timer->loop);
	child_end(&timer->child);
}

static bool all_are_up(const struct timer *timer)
{
	for (uint32_t shard = 0; shard < timer->shard_count; shard++)
		if (rpc_state(timer->shards[shard]) != RPC_UP) return false;
	return true;
}

/* A shard that is down or has no room misses a heartbeat; it counts those that arrive. */
static void heartbeat(struct rpc *rpc, mono_us now)
{
	struct call    call = {.message = MSG_HEARTBEAT};
	msgpack_packer packer;
	call.deadline = mono_after(now, (dur_us){HEARTBEAT_LOST_MS * US_PER_MS});
	if (rpc_begin(rpc, &call, NULL, &packer)) return;
	msgpack_pack_array(&packer, ARGS_HEARTBEAT);
	rpc_commit(rpc);
}

/* True: they were sent. */
static bool heartbeats(struct timer *timer, mono_us now)
{
	if (now.v < timer->heartbeat_due.v) return false;
	timer->heartbeat_due = mono_after(now, (dur_us){HEARTBEAT_EVERY_MS * US_PER_MS});
	for (uint32_t shard = 0; shard < timer->shard_count; shard++)
		heartbeat(timer->shards[shard], now);
	return true;
}

static void shorten(dur_us *wait, dur_us most)
{
	if (most.v < wait->v) *wait = most;
}

/* Sends what is pending for a shard. Returns whether something has arrived meanwhile, which its descriptor may not show. */
static bool talk(struct timer *timer, uint32_t shard, mono_us now, dur_us *wait)
{
	if (!timer->is_mute) {
		shorten(wait, deliver_turn(timer->deliveries[shard], now));
		shorten(wait, pushing_turn(timer->pushings[shard], now));
		shorten(wait, googling_turn(timer->googlings[shard], now));
	}
	shorten(wait, fetching_turn(timer->fetches[shard], now));
	rpc_flush(timer->shards[shard], now);
	return rpc_waiting(timer->shards[shard]);
}

/* One turn; returns how long until the next may start. */
static dur_us turn(struct timer *timer, mono_us now)
{
	bool   more = false;
	dur_us wait = {CHILD_TURN_MS * US_PER_MS};
	bool   beat = heartbeats(timer, now);
	read_own_addresses(timer, now);
	shaper_turn(timer->shaper);
	for (uint32_t shard = 0; shard < timer->shard_count; shard++) {
		more |= rpc_pump(timer->shards[shard], now, MESSAGES_A_TURN);
		if (!timer->is_mute) notify_turn(timer->notices[shard], now, beat);
		shaping_turn(timer->shapings[shard], beat);
		more |= talk(timer, shard, now, &wait); /* so that the results of an answer leave at once */
	}
	timer->has_news = false;
	now = time_mono(); /* so that nothing is sent for a lease that has expired meanwhile */
	shorten(&wait, egress_turn(timer->egress, now));
	if (!timer->is_mute)
		shorten(&wait, google_turn(timer->google, now)); /* an answer may let the next call begin */
	shorten(&wait, apns_turn(timer->apns, now));
	timer->has_news |= apns_has_news(timer->apns);
	atomic_store_explicit(&counts_shared()->apns_connections, apns_connections(timer->apns),
	                      memory_order_relaxed);
	look_at_roots(timer);
	for (uint32_t shard = 0; timer->has_news && shard < timer->shard_count; shard++)
		more |= talk(timer, shard, now, &wait);
	child_report(&timer->child, all_are_up(timer) ? "ready" : "starting", 0, now);
	take_settings(timer);
	return more ? (dur_us){0} : wait;
}

static void sleep_for(struct timer *timer, dur_us wait)
{
	loop_wait(&timer->loop, wait);
	child_look(&timer->child, &timer->loop);
}

static bool all_are_idle(const struct timer *timer)
{
	for (uint32_t shard = 0; shard < timer->shard_count; shard++)
		if (!deliver_is_idle(timer->deliveries[shard]) || !pushing_is_idle(timer->pushings[shard]) ||
		    !googling_is_idle(timer->googlings[shard]))
			return false;
	return true;
}

static void turn_until_idle(struct timer *timer, int64_t ms)
{
	mono_us until = mono_after(time_mono(), (dur_us){ms * US_PER_MS});
	while (!all_are_idle(timer) && time_mono().v < until.v) {
		dur_us wait = turn(timer, time_mono()), left = mono_since(until, time_mono());
		if (!all_are_idle(timer)) sleep_for(timer, wait.v < left.v ? wait : left);
	}
}

/* Lets attempts finish that end soon, so that a stop causes no second delivery. */
static void drain(struct timer *timer)
{
	for (uint32_t shard = 0; shard < timer->shard_count; shard++) {
		deliver_stop(timer->deliveries[shard]);
		pushing_stop(timer->pushings[shard]);
		googling_stop(timer->googlings[shard]);
	}
	turn_until_idle(timer, DRAIN_MS);
	egress_stop(timer->egress);
	turn(timer, time_mono()); /* what has not begun is reported as not made */
	for (uint32_t shard = 0; shard < timer->shard_count; shard++)
		deliver_cut(timer->deliveries[shard]);
	turn_until_idle(timer, LAST_WORDS_MS);
}

int timer_main(const struct options *options)
{
	enum err      err;
	struct timer *timer = calloc(1, sizeof(*timer));
	if (!timer) return 1;
	timer->loop.epoll_fd = -1;
	if ((err = child_begin(&timer->child, options, ROLE_TIMER)) || (err = needs_libcurl())) goto out;
	if ((err = timer_open(timer, options))) {
		log_fatal("timer_start", "code=%s", err_code(err));
		goto out;
	}
	log_info("timer_started", "shards=%u", timer->shard_count);
	for (;;) {
		dur_us wait = turn(timer, time_mono());
		if (child_stopping(&timer->child)) break;
		sleep_for(timer, wait);
	}
	drain(timer);
	log_info("timer_stopped", "orderly=1");
out:
	timer_close(timer);
	free(timer);
	return err ? 1 : 0;
}
