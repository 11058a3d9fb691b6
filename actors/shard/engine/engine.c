/* The turn of the shard's writer.
 *
 * Three positions move along the journal's sequence: decided, durable, committed. A turn first reads what became durable and
 * sends the answers that waited for it. Then it decides the calls that have arrived, as long as the open record has room. It
 * submits the record if the disk is free, and commits if every decided record is durable.
 *
 * While one record is written, the next one is filled. On a quick disk the writer syncs itself, and calls wait in the channel.
 * In both cases, all calls that arrive during a sync share the next one. */
#include "actors/shard/engine/engine.h"

#include "actors/rt/log.h"
#include "actors/rt/other_version.h"
#include "actors/rt/time.h"
#include "actors/shard/wallet/signer.h"
#include "store/meta.h"

enum {
	FRAMES_PER_TURN = 64,
	IDLE_COMMIT_US = 3000,
	PATIENCE_US = 100000,
	AWAY_US = 250000,
	AWAY_STEP_US = 50000
};

static enum err begin_clock(struct engine *engine, struct view *view)
{
	int64_t  offset = 0;
	enum err err = engine->facts.test_clock ? clock_offset_get(view, &offset) : OK;
	engine_set_clock(engine, offset);
	return err;
}

enum err engine_open(struct engine *engine, struct store *store, struct channel *channel)
{
	bool     paused;
	unsigned wallets;
	engine->store = store;
	engine->facts.snapshotter = store_snapshotter(store);
	engine->facts.sync_times = store_sync_times(store);
	engine->channel = channel;
	rates_open(&engine->rates);
	if (!(engine->zone = msgpack_zone_new(64 * 1024))) return ERR_NO_MEMORY;
	enum err err = issuer_paused_get(store_view(store, NULL, &engine->arena), &paused);
	if (err) return err;
	atomic_store(&engine->facts.issuer_paused, paused);
	struct view *view = store_view(store, NULL, &engine->arena);
	if ((err = wallets_get(view, &wallets))) return err;
	atomic_store(&engine->facts.wallets, wallets);
	if ((err = wallet_ends_load(&engine->wallet_ends, view, engine->facts.index == 0))) return err;
	engine->facts.wallet_ends = &engine->wallet_ends;
	if ((err = queue_load(&engine->deliveries, view, LEASES_MAX / engine->facts.shards, time_mono())))
		return err;
	if ((err = issuance_load(&engine->issuance, view, EGRESS_FETCHES_MAX / engine->facts.shards)))
		return err;
	if ((err = due_load(&engine->notices, view))) return err;
	if ((err = work_load(&engine->work, view))) return err;
	if ((err = begin_clock(engine, view))) return err;
	if ((err = readers_open(store, &engine->facts, &readers_of_lists, &engine->readers))) return err;
	struct readers_plan plan = readers_of_packages;
	if ((err = signer_open(&engine->signer))) return err;
	plan.signer = engine->signer;
	engine->facts.sign_times = signer_times(engine->signer);
	return readers_open(store, &engine->facts, &plan, &engine->signers);
}

void engine_close(struct engine *engine)
{
	readers_close(&engine->readers);
	readers_close(&engine->signers);
	signer_close(&engine->signer);
	packet_close(&engine->packet);
	turns_close(&engine->turns);
	engine_forget_polls(engine);
	queue_free(&engine->deliveries);
	due_free(&engine->notices);
	wallet_ends_free(&engine->wallet_ends);
	work_free(&engine->work);
	phone_logs_free(&engine->phone_logs);
	issuance_free(&engine->issuance);
	sessions_close(&engine->sessions);
	account_forget_all(&engine->accounts);
	rates_free(&engine->rates);
	if (engine->zone) msgpack_zone_free(engine->zone);
	arena_free(&engine->arena);
	buffer_free(&engine->payload);
	buffer_free(&engine->to_timer.bytes);
}

/* Frames -------------------------------------------------------------------------------------------------- */

static enum err welcome(struct engine *engine, const struct peer *peer, const struct frame *hello)
{
	struct buffer      bytes = {0};
	const struct frame head = {.epoch = engine->facts.epoch,
	                           .begun = hello->begun,
	                           .credit_commands = SESSION_CREDIT_COMMANDS,
	                           .credit_bytes = SESSION_CREDIT_BYTES,
	                           .placement_version = PLACEMENT_VERSION};
	frame_welcome(&bytes, &head);
	enum err err = bytes.failed ? ERR_NO_MEMORY
	                            : channel_send(engine->channel, peer, buffer_span(&bytes));
	buffer_free(&bytes);
	return err;
}

/* The issuer is the timer that was welcomed last. */
static void adopt_timer(struct engine *engine, const struct peer *peer)
{
	issuance_forget_asked(&engine->issuance);
	engine->timer = *peer;
	engine->timer_known = true;
	engine->timer_heard = engine->now;
	for (unsigned i = 0; i < POLLS; i++)
		engine_dismiss_poll(engine, i); /* the former timer no longer needs the answers */
}

/* The HELLOs of a dead process may still be in the channel and be read after its successor's. So a HELLO is ignored if a later
 * one outdates it, or if its sender cannot be reached. */
static void on_hello(struct engine *engine, const struct peer *peer, const struct frame *frame)
{
	struct session *session = session_find(&engine->sessions, peer);
	bool            is_again = session && session->begun.v == frame->begun.v;
	if (sessions_outdate(&engine->sessions, frame)) return;
	if (!is_again && !(session = session_open(&engine->sessions, peer, frame, engine->now)))
		return; /* the peer sends HELLO again */
	/* A send alone may not notice that a connection has ended. */
	(void)channel_waiting(engine->channel);
	if (welcome(engine, peer, frame)) {
		session_close(&engine->sessions, session);
		return;
	}
	if (is_again) return;
	sessions_succeed(&engine->sessions, session);
	if (frame->role == ROLE_TIMER) adopt_timer(engine, peer);
}

/* Refuses calls of a session that is unknown here, or belongs to an earlier start of the shard. None of them was executed. */
static void refuse_frame(struct engine *engine, const struct peer *peer, const struct frame *frame)
{
	struct frame_out out = {0};
	struct call      call;
	for (uint32_t i = 0; i < frame->count; i++) {
		call.id = 0;
		(void)!call_open(&frame->items[i], &call);
		frame_reply(&out, call.id, ERR_SHARD_UNAVAILABLE, 0, span_of(NULL, 0));
		msgpack_packer pk = frame_out_packer(&out);
		msgpack_pack_nil(&pk);
	}
	/* Epoch 0 matches no shard: the caller opens a new session. */
	struct span bytes = frame_seal_replies(&out, 0);
	if (bytes.size) (void)!channel_send(engine->channel, peer, bytes); /* else the deadline ends it */
	buffer_free(&out.bytes);
}

static bool is_timer(const struct engine *engine, const struct peer *peer)
{
	return engine->timer_known && peer_same(peer, &engine->timer);
}

/* Counts the frame in its session. Returns whether its items must be processed. */
static bool receive_frame(struct engine *engine, const struct frame *frame)
{
	const struct peer *from = &engine->packet.from;
	struct session    *session = session_find(&engine->sessions, from);
	bool               is_call = frame->kind == FRAME_CALLS, is_of_timer = is_timer(engine, from);
	if (session && frame->epoch != engine->facts.epoch) session = NULL;
	if (session && !session_heard(session, engine->now, frame, engine->packet.bytes.size)) {
		log_warn("receipt_mismatch", "role=%s index=%u", role_text(session->role), session->index);
		session_close(&engine->sessions, session);
		session = NULL;
	}
	if (!session) {
		if (is_call) refuse_frame(engine, from, frame);
		return false;
	}
	if (is_of_timer) engine->timer_heard = engine->now;
	if (is_call) session_waits(&engine->sessions, session, frame->waiting);
	return is_call || is_of_timer;
}

/* Opens the frame; its items are processed one by one. A frame without use is left empty. */
static enum err begin_frame(struct engine *engine)
{
	struct frame      *frame = &engine->frame;
	const struct peer *from = &engine->packet.from;
	enum err           err = frame_open(engine->packet.bytes, engine->zone, frame);
	bool               useful = false;
	if (err == ERR_NO_MEMORY) return err;
	if (err == ERR_UNSUPPORTED) {
		other_version_log(&engine->other_version, engine->now);
	} else if (err) {
		log_warn("malformed_frame", "bytes=%zu", engine->packet.bytes.size);
	} else if (frame->kind == FRAME_HELLO) {
		on_hello(engine, from, frame);
	} else if (frame->kind != FRAME_WELCOME) {
		useful = receive_frame(engine, frame);
	}
	engine->frame_at = 0;
	if (!useful) frame->count = 0;
	return OK;
}

static enum err on_item(struct engine *engine, const msgpack_object *item)
{
	struct call     call = {.id = 0};
	struct session *session;
	if (engine->frame.kind == FRAME_REPLIES) {
		engine_on_timer_reply(engine, item);
		return OK;
	}
	if (!(session = session_find(&engine->sessions, &engine->packet.from)))
		return OK; /* closed meanwhile */
	enum err malformed = call_open(item, &call);
	if (!malformed) return engine_decide(engine, session, &call);
	engine_answer(engine, session, &call, malformed, NULL);
	return OK;
}

/* The turn ------------------------------------------------------------------------------------------------ */

static void flush(struct engine *engine)
{
#ifndef FAULT_ANSWER_EARLY /* fault injection: answers do not wait for the journal */
	if (store_is_syncing(engine->store)) return;
#endif
	sessions_flush(&engine->sessions, engine->channel, engine->facts.epoch);
}

/* Processes the remaining items of the current frame, as far as there is room. */
static enum err go_through_frame(struct engine *engine)
{
	enum err err = OK;
	while (!err && engine->frame_at < engine->frame.count && engine_has_room(engine))
		err = on_item(engine, &engine->frame.items[engine->frame_at++]);
	if (engine->frame_at >= engine->frame.count) msgpack_zone_clear(engine->zone);
	return err;
}

/* The writer may have read no packets for a while: there was no room since the disk stalled, or the process was stopped.
 * Heartbeats of the issuer may be unread in the channel, so that time does not count as its silence. */
static void look_at_clock(struct engine *engine, mono_us now)
{
	int64_t away = now.v - engine->listened.v - AWAY_US;
	engine->now = now;
	if (away < AWAY_STEP_US) return; /* a hung disk gives many turns */
	engine->listened = mono_after(engine->listened,
	                              (dur_us){away}); /* this much has been taken into account */
	engine->timer_heard = mono_after(engine->timer_heard, (dur_us){away});
	issuance_delay(&engine->issuance, (dur_us){away}, now);
}

static enum err take_packets(struct engine *engine, bool *more)
{
	engine->packets = engine->frame_at < engine->frame.count; /* one of which calls were left */
	enum err err = go_through_frame(engine);
	*more = true;
	/* Other threads can free room at any moment, so the current frame is finished first. */
	for (unsigned i = 0; !err && i < FRAMES_PER_TURN && engine->frame_at >= engine->frame.count &&
	                     engine_has_room(engine);
	     i++) {
		engine->listened = engine->now;
		if (channel_recv(engine->channel, &engine->packet)) {
			*more = false;
			break;
		}
		engine->packets++;
		/* The process may have been stopped since the turn began. */
		look_at_clock(engine, time_mono());
		if (!(err = begin_frame(engine))) err = go_through_frame(engine);
	}
	return err;
}

/* Decides the timer's long polls again, once they are ready. */
static enum err hand_out(struct engine *engine)
{
	for (unsigned i = 0; i < POLLS && engine_has_room(engine); i++) {
		struct lease_poll poll;
		if (!engine_take_poll(engine, i, &poll)) continue;
		struct session *session = session_find(&engine->sessions, &poll.poller);
		enum err        err = session ? engine_decide_now(engine, session, &poll.call.call) : OK;
		saved_call_free(&poll.call);
		if (err) return err;
	}
	return OK;
}

static void note_facts(struct engine *engine)
{
	struct store_counters counters = store_counters(engine->store);
	atomic_store_explicit(&engine->facts.journal_seq, counters.seq, memory_order_relaxed);
	atomic_store_explicit(&engine->facts.syncs, counters.syncs, memory_order_relaxed);
	atomic_store_explicit(&engine->facts.commits, counters.commits, memory_order_relaxed);
	atomic_store_explicit(&engine->facts.memory_bytes, counters.memory_bytes, memory_order_relaxed);
	atomic_store_explicit(&engine->facts.evictions, counters.evictions, memory_order_relaxed);
	atomic_store_explicit(&engine->facts.sessions, engine->sessions.count, memory_order_relaxed);
	atomic_store_explicit(&engine->facts.room, (int)store_room(engine->store), memory_order_relaxed);
	atomic_store_explicit(&engine->facts.issuing, engine->issuance.pass_count, memory_order_relaxed);
	atomic_store_explicit(&engine->facts.issuer_up, engine_issuer_up(engine), memory_order_relaxed);
}

static void note_work(struct engine *engine)
{
	for (unsigned i = 1; i < WALLET_DUE_KINDS_END; i++) {
		enum wallet_due_kind kind = (enum wallet_due_kind)i;
		size_t               count = work_count(engine->work, kind);
		int64_t              oldest = count ? work_oldest(engine->work, kind).v : INT64_MAX;
		atomic_store_explicit(&engine->facts.wallet_due[i].count, count, memory_order_relaxed);
		atomic_store_explicit(&engine->facts.wallet_due[i].oldest, oldest, memory_order_relaxed);
	}
}

/* Metrics are updated before answers leave, so that a caller finds its own command counted. */
static void publish(struct engine *engine)
{
	note_facts(engine);
	note_work(engine);
	flush(engine);
}

/* Submits the record. On a quick disk it is durable on return, and its answers leave in this turn. */
static enum err submit(struct engine *engine)
{
	if (!store_can_submit(engine->store)) return OK;
	flush(engine); /* answers that depend on earlier records only */
	store_submit(engine->store, engine->service_now);
	sessions_turn(&engine->sessions);
	histogram_add(&engine->facts.record_commands, &scale_items, engine->open_commands);
	engine->open_commands = engine->open_writes = 0;
	atomic_fetch_add_explicit(&engine->facts.batches, 1, memory_order_relaxed);
	enum err err = store_settle(engine->store);
	if (!err) publish(engine);
	return err;
}

static enum err commit(struct engine *engine, bool idle)
{
	struct store *store = engine->store;
	bool          is_awaited = readers_waiting(engine->readers) || readers_waiting(engine->signers);
	bool          due = store_wants_commit(store) || is_awaited || idle;
	if (store_decided_seq(store) != store_durable_seq(store)) return OK;
	if (store_open_bytes(store) == 0) engine->open_commands = engine->open_writes = 0;
	bool owes_slice = store_owes_slice(store, idle);
	if (owes_slice || (due && !store_is_committed(store))) {
		enum err err = owes_slice ? store_slice(store, idle) : store_commit(store);
		if (err) return err;
		uncommitted_clear(&engine->uncommitted);
	}
	const struct lender lender = {&engine->accounts, store_view(store, NULL, &engine->arena)};
	if (!store_is_committed(store)) return OK;
	readers_release(engine->readers, &lender);
	readers_release(engine->signers, &lender);
	return OK;
}

static void send_results(struct engine *engine, struct readers *readers)
{
	struct result *result;
	while ((result = readers_next(readers))) {
		struct session *session = session_find(&engine->sessions, &result->peer);
		engine_charge_result(engine, result);
		if (!session || session->window != result->window)
			window_drop_list(result->window, result->frame.size); /* the session has ended */
		else if (session_send_list(session, engine->channel, &result->frame))
			session_close(&engine->sessions, session);
		result_free(&result);
	}
}

/* Readers and the snapshotter may find damaged tables too. */
static enum err look_for_damage(const struct engine *engine)
{
	bool found = snapshotter_found_damage(engine->facts.snapshotter) ||
	             readers_found_damage(engine->readers) || readers_found_damage(engine->signers);
	return found && engine->now.v >= engine->mend_again_at.v ? ERR_DAMAGED : OK;
}

/* Does nobody wait? A long turn, or a wait for the disk, is no rest: those who were answered just now are about to ask again. */
static bool is_idle(struct engine *engine, bool has_rested)
{
	return has_rested && !engine->packets && !channel_has_news(engine->channel);
}

enum err engine_turn(struct engine *engine, mono_us now, wall_us service_now, bool *more)
{
	uint64_t durable = store_durable_seq(engine->store);
	bool     has_rested = now.v - engine->now.v >= IDLE_COMMIT_US;
	look_at_clock(engine, now);
	engine->service_now = service_now;
	enum err err = store_settle(engine->store);
	has_rested &= store_durable_seq(engine->store) == durable;
	if (err || (err = look_for_damage(engine))) return err;
	publish(engine);
	wallet_ends_log(&engine->wallet_ends, service_now);
	send_results(engine, engine->readers);
	send_results(engine, engine->signers);
	sessions_ask(&engine->sessions, engine->channel, engine->facts.epoch, now);
	if ((err = engine_begin_turns(engine))) return err;
	if ((err = take_packets(engine, more))) return err;
	if ((err = engine_end_turns(engine, more))) return err;
	if ((err = engine_sort_work(engine, more))) return err;
	if ((err = hand_out(engine))) return err;
	if (engine_has_room(engine) && (err = engine_issue(engine, more))) return err;
	if (engine_has_room(engine) && (err = engine_do_own_work(engine, more))) return err;
	if (engine_has_room(engine) && (err = engine_clean(engine))) return err;
	engine_ask_timer(engine);
	bool was_full = !engine_has_room(engine);
	if ((err = submit(engine))) return err;
	if ((err = commit(engine, is_idle(engine, has_rested)))) return err;
	publish(engine);
	if (!engine_has_room(engine))
		*more = store_owes_slice(engine->store, false); /* else the journal's threads will wake us */
	else if (was_full)
		*more = true; /* calls were passed over */
	else if (!*more)
		*more = channel_has_news(engine->channel); /* sending may have consumed the wake-up */
	return OK;
}

dur_us engine_patience(const struct engine *engine)
{
	bool    quick = !store_is_committed(engine->store) || store_is_behind(engine->store);
	int64_t patience = quick ? IDLE_COMMIT_US : PATIENCE_US;
	wall_us due = engine_poll_due(engine);
	bool    has_steps = engine->cleaning.part != CLEAN_END || engine_has_own_work(engine);
	if (!quick && has_steps) patience = CLEAN_STEP_MS * US_PER_MS;
	if (due.v - patience < engine->service_now.v) patience = due.v - engine->service_now.v;
	if (patience < IDLE_COMMIT_US) patience = IDLE_COMMIT_US;
	dur_us turn = turns_due(&engine->turns, engine->now);
	return turn.v > 0 && turn.v < patience ? turn : (dur_us){patience};
}

bool engine_is_idle(const struct engine *engine)
{
	return store_decided_seq(engine->store) == store_durable_seq(engine->store) &&
	       engine->turns.count == 0;
}
