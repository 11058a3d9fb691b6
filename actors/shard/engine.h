#pragma once
#include "actors/rt/mailbox.h"
#include "actors/shard/command.h"
#include "actors/shard/parked.h"
#include "actors/shard/readers.h"
#include "actors/shard/service_clock.h"
#include "actors/shard/session.h"
#include "store/store.h"

/* The shard's engine: takes frames in, decides their calls one after the other, saves, and lets answers leave
 * only when all they depend on is durable. Everything below is the writer thread's. */
struct engine {
	struct shard_facts   facts;
	struct store        *store;
	struct mailbox      *mailbox;
	struct readers      *readers;
	struct sessions      sessions;
	struct account_cache accounts;
	struct parking       parking;
	struct service_clock clock;
	struct random_pool   random;

	/* One command's. */
	msgpack_zone *zone;   /* of the frame being read */
	struct letter letter; /* the frame's bytes */
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
	unsigned open_commands; /* decided since the open record was begun */

	/* The issuer. */
	struct peer      timer;
	mono_us          timer_heard;
	bool             timer_known;
	struct frame_out to_timer;
};

/* Everything but the process itself: the store must be open. Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err engine_open(struct engine *engine, struct store *store, struct mailbox *mailbox);
void                engine_close(struct engine *engine);

/* One turn: reads what has arrived and what threads have done, decides, submits, commits, answers. *more says
 * that there is work left which no descriptor will announce. Errors (all fatal: exit without another word):
 * ERR_IO, ERR_DAMAGED, ERR_NO_MEMORY, ERR_TOO_LARGE. */
must_check enum err engine_turn(struct engine *engine, mono_us now, wall_us service_now, bool *more);

/* How long the process may sleep when nothing arrives. */
dur_us engine_patience(const struct engine *engine);

/* Nothing decided is undurable and nobody waits for an answer. */
bool engine_is_idle(const struct engine *engine);

/* decide.c: one call of a session, answered now, later, or never (its peer has gone). */
must_check enum err engine_decide(struct engine *engine, struct session *session, const struct call *call);
/* The same again for a parked creation whose issuer has answered; and the refusal of one. */
must_check enum err engine_decide_prepared(struct engine *engine, const struct parked *parked);
void                engine_answer(struct engine *engine, struct session *session, uint64_t id, enum err err,
                                  const struct outcome *outcome);

/* issue.c: the conversation with the issuer. */
bool                engine_issuer_up(const struct engine *engine);
must_check enum err engine_park(struct engine *engine, struct session *session, const struct call *call);
must_check enum err engine_on_prepared(struct engine *engine, const msgpack_object *item); /* one reply */
void                engine_expire_parked(struct engine *engine);
void                engine_ask_timer(struct engine *engine); /* sends the turn's PREPAREs */
