#pragma once
#include "actors/rt/channel.h"
#include "actors/shard/command.h"
#include "actors/shard/delivery/queue.h"
#include "actors/shard/issuance/issuance.h"
#include "actors/shard/notification/due.h"
#include "actors/shard/pass/id_cache.h"
#include "actors/shard/engine/cleaning.h"
#include "actors/shard/engine/saved_call.h"
#include "actors/shard/engine/rate.h"
#include "actors/shard/engine/readers.h"
#include "actors/shard/engine/service_clock.h"
#include "actors/shard/engine/session.h"
#include "actors/shard/engine/turns.h"
#include "actors/shard/engine/uncommitted.h"
#include "store/store.h"

/* The shard's engine: takes frames in, decides their calls one after the other, saves, and lets answers leave
 * only when all they depend on is durable. Everything below is the writer thread's. */
struct engine {
	struct shard_facts   facts;
	struct store        *store;
	struct channel      *channel;
	struct readers      *readers;
	struct sessions      sessions;
	struct account_cache accounts;
	struct pass_id_cache pass_ids;
	struct rates         rates;
	struct turns         turns;
	struct service_clock clock;
	struct random_pool   random;

	/* One command's. */
	msgpack_zone *zone;   /* of the frame being read */
	struct packet packet; /* the frame's bytes */
	struct frame  frame;
	uint32_t frame_at; /* items below have been seen to; a full record leaves the rest for later turns */
	struct arena  arena;
	struct writes writes;
	struct buffer payload;

	/* The turn's. */
	mono_us now;
	wall_us service_now;
	mono_us
	    mend_again_at; /* damaged tables end the process, so that they are made anew; not before this */
	unsigned           open_commands; /* decided since the open record was begun */
	struct uncommitted uncommitted;
	dur_us             spent; /* time of the processor, as it was last looked at */

	/* Deliveries: what is due, and the timer's question for it. */
	struct delivery_queue deliveries;
	struct saved_call     lease_poll;
	struct peer           poller;
	bool                  has_poll;

	struct due_queue notices; /* notifications that are due */
	struct cleaning  cleaning;

	/* The issuer. */
	struct peer      timer;
	mono_us          timer_heard;
	bool             timer_known;
	struct frame_out to_timer;
	struct issuance  issuance;
	bool             is_issuing; /* as of the last turn */
};

/* Everything but the process itself: the store must be open; then the clock may begin. Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err engine_open(struct engine *engine, struct store *store, struct channel *channel);
void                engine_close(struct engine *engine);

/* One turn: reads what has arrived and what threads have done, decides, submits, commits, answers. *more says
 * that there is work left which no descriptor will announce. Errors (all fatal: exit without another word):
 * ERR_IO, ERR_DAMAGED, ERR_NO_MEMORY, ERR_TOO_LARGE. */
must_check enum err engine_turn(struct engine *engine, mono_us now, wall_us service_now, bool *more);

/* room.c: may more be decided in this turn? Not while a full record, a due commit or many answers wait for the disk. */
bool engine_has_room(const struct engine *engine);

/* How long the process may sleep when nothing arrives. */
dur_us engine_patience(const struct engine *engine);

/* Nothing decided is undurable and nobody waits for an answer. */
bool engine_is_idle(const struct engine *engine);

/* take_turns.c: one call of a session, decided now, or when its account has its turn; at a turn's beginning, and behind its
 * packets, those that were kept. *more: there are some that are free. */
must_check enum err engine_decide(struct engine *engine, struct session *session, struct call *call);
must_check enum err engine_begin_turns(struct engine *engine);
must_check enum err engine_end_turns(struct engine *engine, bool *more);

/* A reader's answer is about to leave: its account owes for it. */
void engine_charge_result(struct engine *engine, const struct result *result);

/* route.c: the call, decided now; answered now, later, or never (its peer has gone). */
must_check enum err engine_decide_now(struct engine *engine, struct session *session, struct call *call);

/* answer.c */
void engine_answer(struct engine *engine, struct session *session, const struct call *call, enum err err,
                   const struct outcome *outcome);

/* decide.c: decides and saves. *answer is the call's error, ERR_PARKED if it is to be answered later; the return value is
 * fatal. engine_decide_own() is for what the shard does by itself. */
must_check enum err engine_decide_call(struct engine *engine, const struct session *session,
                                       struct call *call, struct outcome *outcome, enum err *answer);
must_check enum err engine_decide_own(struct engine *engine, const struct call *call, struct outcome *outcome,
                                      enum err *answer);

/* observers.c: tells everything that keeps in memory what rows hold of the writes just applied. Each hears of them, whatever
 * the others say. Errors: the first of them. */
must_check enum err engine_observe(struct engine *engine);

/* What the end of a call means for the process: ERR_DAMAGED is logged, and ends it so that the tables are
 * made anew, unless they have just been: then it goes on without. Errors: ERR_IO, ERR_NO_MEMORY, ERR_DAMAGED, to be fatal. */
must_check enum err engine_judge_error(const struct engine *engine, const struct call *call, enum err err);

/* Service time is so far ahead from now on, microseconds. */
void engine_set_clock(struct engine *engine, int64_t offset);

/* clean_step.c: the background removal. Errors: as engine_turn(). */
must_check enum err engine_clean(struct engine *engine);

/* hand_out.c: the timer's long poll for due deliveries, kept until there is an answer. Errors: ERR_NO_MEMORY. */
must_check enum err engine_keep_poll(struct engine *engine, const struct session *session,
                                     const struct call *call);
/* It is to be decided again, and the caller's to free. Errors: false (there is none, or not yet). */
bool engine_take_poll(struct engine *engine, struct saved_call *lease_poll);
void engine_dismiss_poll(struct engine *engine); /* answers that it is not to be had now */
void engine_forget_poll(struct engine *engine);

/* issuer.c: the issuer is the timer. It is up while its heartbeats come; passes are created unless it is paused too. */
bool engine_issuer_up(const struct engine *engine);
bool engine_can_issue(const struct engine *engine);
void engine_ask_timer(struct engine *engine);                                  /* sends the turn's FETCHes */
void engine_on_timer_reply(struct engine *engine, const msgpack_object *item); /* to a FETCH */

/* issuing.c: passes whose images are fetched. */
/* Looks at passes, asks for images, tells those who wait. *more: there are more passes to look at. Errors: as engine_turn(). */
must_check enum err engine_issue(struct engine *engine, bool *more);
/* The call's answer is not its last: another follows when the pass is issued. Errors: false (nobody waits). */
bool engine_let_wait(struct engine *engine, const struct session *session, const struct call *call,
                     const struct outcome *outcome);
