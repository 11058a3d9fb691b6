#pragma once
#include "actors/rt/channel.h"
#include "actors/shard/command.h"
#include "actors/shard/delivery/queue.h"
#include "actors/shard/issuance/issuance.h"
#include "actors/shard/notification/due.h"
#include "actors/shard/wallet/ends.h"
#include "actors/shard/engine/cleaning.h"
#include "actors/shard/engine/saved_call.h"
#include "actors/shard/engine/rate.h"
#include "actors/shard/engine/readers.h"
#include "actors/shard/engine/service_clock.h"
#include "actors/shard/engine/session.h"
#include "actors/shard/engine/turns.h"
#include "actors/shard/engine/uncommitted.h"
#include "actors/shard/wallet/phone_log.h"
#include "actors/shard/wallet/work.h"
#include "store/store.h"

/* Kinds of the timer's long polls: due deliveries, due pushes to phones, due calls of Google. */
enum poll_kind { POLL_DELIVERIES, POLL_PUSHES, POLL_GOOGLE, POLLS };

/* The shard's engine. It reads frames, decides their calls one after the other, saves the writes, and lets an answer leave
 * only when everything it depends on is durable. The writer thread owns everything below. */
struct engine {
	struct shard_facts   facts;
	struct store        *store;
	struct channel      *channel;
	struct readers      *readers, *signers; /* of lists, and of packages for wallets */
	struct signer       *signer;
	struct sessions      sessions;
	struct account_cache accounts;
	struct rates         rates;
	struct turns         turns;
	struct service_clock clock;
	struct random_pool   random;

	/* State of one command. */
	msgpack_zone *zone;   /* of the frame being read */
	struct packet packet; /* the frame's bytes */
	struct frame  frame;
	/* First item that is not processed yet: a full record leaves the rest for later turns. */
	uint32_t      frame_at;
	struct arena  arena;
	struct writes writes;
	struct buffer payload;

	enum err save_error;    /* what made a save fail, which ends the process */
	mono_us  other_version; /* when a HELLO of one was logged last */

	/* State of one turn. */
	mono_us            now;
	unsigned           packets; /* taken in this turn */
	wall_us            service_now;
	mono_us            mend_again_at; /* from when on damaged tables end the process */
	unsigned           open_commands; /* decided since the open record began */
	unsigned           open_writes;   /* of these */
	struct uncommitted uncommitted;
	dur_us             spent; /* processor time of the thread, as last read */

	/* What the timer is to do, and its long polls for it. */
	struct delivery_queue deliveries;
	struct work_queue    *work; /* on passes in wallets */
	struct shape_place    shape_places[SHAPE_PLACES];
	struct lease_poll {
		struct saved_call call;
		struct peer       poller;
		bool              is_kept;
	} polls[POLLS];

	struct due_queue   notices; /* due notifications */
	struct cleaning    cleaning;
	struct wallet_ends wallet_ends;
	struct bulk_allowance {
		double   allowed; /* passes that may become due now */
		mono_us  counted;
		unsigned turn;
	} bulk;

	struct phone_logs *phone_logs; /* NULL: no line so far */

	/* The issuer. */
	struct peer      timer;
	mono_us          timer_heard;
	mono_us          listened; /* when the channel was last read */
	bool             timer_known;
	struct frame_out to_timer;
	struct issuance  issuance;
	bool             is_issuing; /* in the last turn */
};

/* Opens everything except the process itself. The store must be open. Service time starts afterwards. Errors: ERR_NO_MEMORY,
 * ERR_IO. */
must_check enum err engine_open(struct engine *engine, struct store *store, struct channel *channel);
void                engine_close(struct engine *engine);

/* One turn: reads what has arrived and what threads have finished, decides, submits, commits, answers. *more: work is left
 * that no descriptor will announce. Errors, all fatal (the process exits at once): ERR_IO, ERR_DAMAGED, ERR_NO_MEMORY,
 * ERR_TOO_LARGE. */
must_check enum err engine_turn(struct engine *engine, mono_us now, wall_us service_now, bool *more);

/* room.c: may this turn decide more? False while a full record, a due commit or too many answers wait for the disk. */
bool engine_has_room(const struct engine *engine);

/* room.c: no packet can be taken until a thread of the journal signals store_fd(). The process waits without the channel's
 * descriptor, which would wake it at once, as long as packets lie there. */
bool engine_awaits_disk(const struct engine *engine);

/* How long the process may sleep if nothing arrives. */
dur_us engine_patience(const struct engine *engine);

/* Everything decided is durable, and no call waits for its account's turn. */
bool engine_is_idle(const struct engine *engine);

/* take_turns.c: engine_decide() decides a call now, or keeps it until its account's turn. The other two decide kept calls,
 * before and after a turn's packets. *more: a kept call is ready. */
must_check enum err engine_decide(struct engine *engine, struct session *session, struct call *call);
must_check enum err engine_begin_turns(struct engine *engine);
must_check enum err engine_end_turns(struct engine *engine, bool *more);

/* A reader's answer is about to leave: charges its account for it. */
void engine_charge_result(struct engine *engine, const struct result *result);

/* route.c: decides the call now. Its answer leaves now, later, or never (the peer has gone). */
must_check enum err engine_decide_now(struct engine *engine, struct session *session, struct call *call);

/* answer.c */
void engine_answer(struct engine *engine, struct session *session, const struct call *call, enum err err,
                   const struct outcome *outcome);

/* decide.c: decides and saves. *answer is the call's error; ERR_PARKED: it is answered later. The returned error is fatal.
 * engine_decide_own() is for the shard's own commands. */
must_check enum err engine_decide_call(struct engine *engine, const struct session *session,
                                       struct call *call, struct outcome *outcome, enum err *answer);
must_check enum err engine_decide_own(struct engine *engine, const struct call *call, struct outcome *outcome,
                                      enum err *answer);

/* observers.c: passes the writes just applied to every structure that mirrors rows in memory. Each one gets them, even after
 * an error. Errors: the first of them. */
must_check enum err engine_observe(struct engine *engine);

/* Decides what the error of a call means for the process. ERR_DAMAGED is logged and ends the process, so that the tables are
 * rebuilt. If they were rebuilt a short while ago, the process continues. Errors (fatal): ERR_IO, ERR_NO_MEMORY, ERR_DAMAGED. */
must_check enum err engine_judge_error(const struct engine *engine, const struct call *call, enum err err);

/* Sets the offset of service time, in microseconds. */
void engine_set_clock(struct engine *engine, int64_t offset);

/* clean_step.c: the background removal. Errors: as engine_turn(). */
must_check enum err engine_clean(struct engine *engine);

/* own_work.c: what is due on passes in wallets and needs no timer. *more: some is left that could be done now. Is there some that
 * waits for its allowance? Errors: as engine_turn(). */
must_check enum err engine_do_own_work(struct engine *engine, bool *more);
/* A step of sorting what is due on passes in wallets; it writes nothing. *more: there are others. */
must_check enum err engine_sort_work(struct engine *engine, bool *more);
bool                engine_has_own_work(const struct engine *engine);

/* hand_out.c: keeps the timer's long polls, one of each kind, until they have an answer. */
enum poll_kind engine_poll_kind(unsigned message); /* POLLS: the message is none */
/* Errors: ERR_NO_MEMORY. */
must_check enum err engine_keep_poll(struct engine *engine, enum poll_kind kind,
                                     const struct session *session, const struct call *call);
/* Takes a poll that must be decided again: something is due, or it has waited long enough. False: none. The caller frees *taken's
 * call. */
bool engine_take_poll(struct engine *engine, enum poll_kind kind, struct lease_poll *taken);
void engine_dismiss_poll(struct engine *engine, enum poll_kind kind); /* answers ERR_OVERLOADED */
void engine_forget_polls(struct engine *engine);
/* Service time at which a poll that is kept must be decided again; INT64_MAX: none. */
wall_us engine_poll_due(const struct engine *engine);

/* issuer.c: the issuer is the timer. It is up while its heartbeats arrive. Passes are issued while it is up and not paused. */
bool engine_issuer_up(const struct engine *engine);
bool engine_can_issue(const struct engine *engine);
void engine_ask_timer(struct engine *engine); /* sends this turn's FETCH calls */
void engine_on_timer_reply(struct engine *engine, const msgpack_object *item); /* reply to a FETCH */

/* issuing.c: passes whose images are being fetched. */
/* Examines passes, requests images, answers waiting calls. *more: passes are left to examine. Errors: as engine_turn(). */
must_check enum err engine_issue(struct engine *engine, bool *more);
/* Makes the call wait: its answer is preliminary, and another follows when the pass is issued. False: the call does not wait. */
bool engine_let_wait(struct engine *engine, const struct session *session, const struct call *call,
                     const struct outcome *outcome);
