/* Work on passes in wallets that the shard does itself when it is due, by commands of its own, a few a turn. What pushes to many
 * phones has an allowance: each push brings a phone back at once for a list and a package, so there are at most
 * --wallet-bulk-rate passes a second. */
#include "actors/shard/engine/engine.h"

#include "actors/shard/wallet/google_class.h"
#include "actors/shard/wallet/held.h"
#include "actors/shard/wallet/message.h"
#include "actors/shard/wallet/touch.h"
#include "schemas/api/google.h"
#include "schemas/api/push.h"

/* Work that could not be done comes up again after AGAIN_S. */
enum { AGAIN_S = 60 };
enum { ARG_NUMBER, ARG_COUNT, ARGS };
_Static_assert(
    (int)ARG_WALLET_REMOVE_number == (int)ARG_NUMBER && (int)ARGS_WALLET_REMOVE == 1 &&
        (int)ARG_WALLET_TOUCH_STEP_number == (int)ARG_NUMBER &&
        (int)ARG_WALLET_TOUCH_STEP_count == (int)ARG_COUNT && (int)ARGS_WALLET_TOUCH_STEP == (int)ARGS &&
        (int)ARG_WALLET_MESSAGE_STEP_number == (int)ARG_NUMBER &&
        (int)ARG_WALLET_MESSAGE_STEP_count == (int)ARG_COUNT && (int)ARGS_WALLET_MESSAGE_STEP == (int)ARGS &&
        (int)ARG_WALLET_CLASSES_STEP_number == (int)ARG_NUMBER &&
        (int)ARG_WALLET_CLASSES_STEP_count == (int)ARG_COUNT && (int)ARGS_WALLET_CLASSES_STEP == (int)ARGS &&
        (int)ARG_WALLET_GOOGLE_SAVED_number == (int)ARG_NUMBER && (int)ARGS_WALLET_GOOGLE_SAVED == 1 &&
        (int)ARG_WALLET_LEFT_number == (int)ARG_NUMBER && (int)ARGS_WALLET_LEFT == 1,
    "the commands' arguments have the same places");

struct own_work {
	enum wallet_due_kind kind;
	enum message         message;
	unsigned             turn_max;  /* commands a turn */
	unsigned             count_max; /* passes, or classes, of one command */
};

/* What is of one pass, and what is of many and has an allowance. */
static const struct own_work singles[] = {
    {WALLET_DUE_REMOVAL, MSG_WALLET_REMOVE, 32, 1},
    {WALLET_DUE_NOTICE, MSG_WALLET_MESSAGE_STEP, 32, 1},
    {WALLET_DUE_CLASSES, MSG_WALLET_CLASSES_STEP, 4, CLASSES_STEP_MAX},
    {WALLET_DUE_SAVED, MSG_WALLET_GOOGLE_SAVED, 32, 1},
    {WALLET_DUE_LEFT, MSG_WALLET_LEFT, 32, 1},
};
static const struct own_work bulks[] = {
    {WALLET_DUE_TOUCH, MSG_WALLET_TOUCH_STEP, 4, TOUCH_STEP_MAX},
    {WALLET_DUE_MESSAGE, MSG_WALLET_MESSAGE_STEP, 4, MESSAGE_STEP_MAX},
};
enum { SINGLES = sizeof singles / sizeof *singles, BULKS = sizeof bulks / sizeof *bulks };

/* What may be pushed now; what is not used within a second is lost. */
static void add_allowance(struct engine *engine)
{
	struct bulk_allowance *bulk = &engine->bulk;
	double                 rate = engine->facts.wallet_bulk_rate;
	bulk->allowed += rate * (double)mono_since(engine->now, bulk->counted).v / (double)US_PER_SEC;
	if (bulk->allowed > rate) bulk->allowed = rate;
	bulk->counted = engine->now;
}

static enum err do_one(struct engine *engine, const struct own_work *of, const struct wallet_work *work,
                       unsigned count, unsigned *pushed)
{
	const struct account_id account = work->account; /* the command may free `work` */
	const uint32_t          number = work->number;
	msgpack_object          args[ARGS] = {{.type = MSGPACK_OBJECT_NIL}};
	struct call    call = {.message = of->message, .has_account = true, .account = account, .args = args};
	struct outcome outcome = {.payload = &engine->payload};
	enum err       answer;
	args[ARG_NUMBER] = (msgpack_object){.type = MSGPACK_OBJECT_POSITIVE_INTEGER, .via.u64 = number};
	args[ARG_COUNT] = (msgpack_object){.type = MSGPACK_OBJECT_POSITIVE_INTEGER, .via.u64 = count};
	enum err err = engine_decide_own(engine, &call, &outcome, &answer);
	wall_us  again = {engine->service_now.v + AGAIN_S * US_PER_SEC};
	*pushed = answer ? 0 : outcome.pushed;
	if (err) return err;
	if (answer) return work_again(engine->work, account, of->kind, number, again);
	return work_rotate(engine->work, account, of->kind, number, engine->service_now);
}

static enum err do_singles(struct engine *engine, const struct own_work *of, bool *more)
{
	enum err err = OK;
	for (unsigned i = 0; !err && i < of->turn_max && engine_has_room(engine); i++) {
		unsigned                  pushed;
		const struct wallet_work *next = work_take(engine->work, of->kind, engine->service_now);
		if (!next) return OK;
		err = do_one(engine, of, next, of->count_max, &pushed);
	}
	*more = true; /* perhaps */
	return err;
}

/* What is left comes up with engine_patience(). */
static enum err do_bulk(struct engine *engine, const struct own_work *of)
{
	enum err err = OK;
	for (unsigned i = 0; !err && i < of->turn_max && engine_has_room(engine); i++) {
		unsigned                  pushed, count = of->count_max;
		const struct wallet_work *next = NULL;
		if (engine->bulk.allowed < 1) return OK;
		if (count > engine->bulk.allowed) count = (unsigned)engine->bulk.allowed;
		if (!(next = work_take(engine->work, of->kind, engine->service_now))) return OK;
		err = do_one(engine, of, next, count, &pushed);
		engine->bulk.allowed -= pushed;
	}
	return err;
}

/* The kinds of bulk take turns at being the first. A nearly full disk keeps its rest for what has begun. */
enum err engine_do_own_work(struct engine *engine, bool *more)
{
	enum err err = OK;
	if (store_room(engine->store) != DISK_FOR_ALL) return OK;
	add_allowance(engine);
	for (unsigned i = 0; !err && i < SINGLES; i++)
		err = do_singles(engine, &singles[i], more);
	engine->bulk.turn++;
	for (unsigned i = 0; !err && i < BULKS; i++)
		err = do_bulk(engine, &bulks[(i + engine->bulk.turn) % BULKS]);
	return err;
}

enum err engine_sort_work(struct engine *engine, bool *more)
{
	enum err err = held_step(engine->work, engine->service_now, more);
	return err ? err : work_make_ready(engine->work, engine->service_now, more);
}

bool engine_has_own_work(const struct engine *engine)
{
	return work_count(engine->work, WALLET_DUE_TOUCH) || work_count(engine->work, WALLET_DUE_MESSAGE);
}
