/* The timer's long polls: for due deliveries (DELIVERY_LEASE), for passes whose phones are to be notified
 * (WALLET_LEASE), and for those that have changed at Google (GOOGLE_LEASE). If
 * nothing is due, a poll is kept. It is decided again when something is due, or when it has waited long enough. There is at most
 * one of a kind: a timer polls again after each answer, and a new poll ends the earlier one. A silent timer gets nothing: it may
 * be dead, and its leases would count as attempts that were never made. */
#include "actors/shard/engine/engine.h"

#include "actors/shard/engine/saved_call.h"
#include "schemas/wallet/kind.h"

enum poll_kind engine_poll_kind(unsigned message)
{
	switch (message) {
	case MSG_DELIVERY_LEASE: return POLL_DELIVERIES;
	case MSG_WALLET_LEASE: return POLL_PUSHES;
	case MSG_GOOGLE_LEASE: return POLL_GOOGLE;
	default: return POLLS;
	}
}

static void forget(struct lease_poll *poll)
{
	if (poll->is_kept) saved_call_free(&poll->call);
	poll->is_kept = false;
}

void engine_forget_polls(struct engine *engine)
{
	for (unsigned i = 0; i < POLLS; i++)
		forget(&engine->polls[i]);
}

void engine_dismiss_poll(struct engine *engine, enum poll_kind kind)
{
	struct lease_poll *poll = &engine->polls[kind];
	if (!poll->is_kept) return;
	struct session *session = session_find(&engine->sessions, &poll->poller);
	if (session) engine_answer(engine, session, &poll->call.call, ERR_OVERLOADED, NULL);
	forget(poll);
}

enum err engine_keep_poll(struct engine *engine, enum poll_kind kind, const struct session *session,
                          const struct call *call)
{
	struct lease_poll kept = {.poller = session->peer, .is_kept = true};
	enum err          err = saved_call_make(&kept.call, call);
	if (err) {
		saved_call_free(&kept.call);
		return err;
	}
	forget(&engine->polls[kind]);
	engine->polls[kind] = kept;
	return OK;
}

static bool is_ready(struct engine *engine, enum poll_kind kind)
{
	if (kind == POLL_DELIVERIES)
		return queue_is_ready(&engine->deliveries, engine->service_now, engine->now);
	/* The first service account has come: its timer is to fetch Google's root keys. */
	bool has_google = atomic_load_explicit(&engine->facts.wallets, memory_order_relaxed) &
	                  WALLET_BIT(WALLET_GOOGLE);
	if (kind == POLL_GOOGLE && has_google && !engine->work->has_google_keys) return true;
	return work_is_ready(engine->work, kind == POLL_GOOGLE ? WORK_GOOGLE : WORK_APPLE,
	                     engine->service_now, engine->now);
}

bool engine_take_poll(struct engine *engine, enum poll_kind kind, struct lease_poll *taken)
{
	struct lease_poll *poll = &engine->polls[kind];
	if (!poll->is_kept) return false;
	mono_us last = {poll->call.call.deadline.v - LEASE_ANSWER_MS * US_PER_MS};
	bool    is_late = engine->now.v >= last.v;
	if (!engine_issuer_up(engine)) {
		if (is_late) engine_dismiss_poll(engine, kind);
		return false;
	}
	if (!is_late && !is_ready(engine, kind)) return false;
	*taken = *poll;
	poll->is_kept = false;
	return true;
}

wall_us engine_poll_due(const struct engine *engine)
{
	wall_us next = {INT64_MAX}, due = queue_next_due(&engine->deliveries);
	if (engine->polls[POLL_DELIVERIES].is_kept && due.v != NO_DUE) next = due;
	due = work_next_due(engine->work, WORK_APPLE);
	if (engine->polls[POLL_PUSHES].is_kept && due.v < next.v) next = due;
	due = work_next_due(engine->work, WORK_GOOGLE);
	if (engine->polls[POLL_GOOGLE].is_kept && due.v < next.v) next = due;
	return next;
}
