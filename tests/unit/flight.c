/* Outstanding rows of an import, with a shard that randomly answers, refuses, dies and does not answer: each
 * row is created once and counted once. The test makes the calls to the service and sets the clock. */
#include "ops/cli/import/flight.h"
#include "actors/rt/time.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

enum { IDS_MAX = 20000, SLOTS_MAX = FLIGHT_ROWS_MAX, WAIT_MS = 30000 };

/* The owner of an id: nobody, another client, or the row of that number. */
enum { NOBODY = -1, ANOTHER = -2 };

struct slot {
	uint8_t key[32];
	int64_t number; /* -1: no row */
};

/* A call that was sent and is not answered yet. */
struct begun {
	struct waiting *waiting;
	enum err        answer;
};

static struct {
	int64_t      owner[IDS_MAX];
	struct slot  slots[SLOTS_MAX];
	unsigned     slot_count;
	struct begun begun[FLIGHT_ROWS_MAX];
	unsigned     begun_count, down, calls;
	uint64_t     last_new; /* one more than the highest number sent */
	bool         suspended, paused, is_deaf;
	unsigned     loses, refuses; /* of 100 calls */
	uint64_t     seed;
	mono_us      now;
} shard;

enum err __wrap_service_connect(struct service *service, const struct account_id *account, uint32_t *number);
uint64_t __wrap_service_epoch(const struct service *service, uint32_t number);
void __wrap_service_begin(struct service *service, const struct call_spec *request, struct waiting *waiting);
void __wrap_service_turn(struct service *service, uint32_t number, dur_us wait);
mono_us __wrap_time_mono(void);

enum err __wrap_service_connect(struct service *service, const struct account_id *account, uint32_t *number)
{
	(void)service;
	(void)account;
	*number = 3;
	return OK;
}

uint64_t __wrap_service_epoch(const struct service *service, uint32_t number)
{
	(void)service;
	cr_assert_eq(number, 3);
	return shard.down ? 0 : 1;
}

mono_us __wrap_time_mono(void)
{
	return shard.now;
}

static struct slot *slot_of(const uint8_t key[32])
{
	for (unsigned i = 0; i < shard.slot_count; i++)
		if (!memcmp(shard.slots[i].key, key, 32)) return &shard.slots[i];
	cr_assert_lt(shard.slot_count, (unsigned)SLOTS_MAX,
	             "an import has no more slots than rows in flight");
	struct slot *slot = &shard.slots[shard.slot_count++];
	memcpy(slot->key, key, 32);
	slot->number = -1;
	return slot;
}

/* The shard executes a call, like the engine. */
static enum err decide(const struct call_spec *request)
{
	struct slot *slot = slot_of(request->idempotency->key);
	int64_t      number = (int64_t)idempotency_row_number(request->idempotency->request);
	int          id;
	memcpy(&id, request->args.at, sizeof id);
	if (shard.suspended) return ERR_ACCOUNT_SUSPENDED;
	if (number == slot->number) return OK;
	cr_assert_gt(number, slot->number, "a row is sent after a later one has its slot");
	if (shard.owner[id] != NOBODY) return ERR_RESOURCE_CONFLICT;
	if (shard.paused) return ERR_PASS_PROVIDER_UNAVAILABLE;
	shard.owner[id] = number;
	slot->number = number;
	return OK;
}

static void answer(struct waiting *waiting, enum err err)
{
	static const msgpack_object nil = {.type = MSGPACK_OBJECT_NIL};
	waiting->on_part(waiting->user, 3, &(struct reply){.err = err, .payload = &nil});
}

void __wrap_service_begin(struct service *service, const struct call_spec *request, struct waiting *waiting)
{
	unsigned luck = chance_below(&shard.seed, 100);
	uint64_t number = idempotency_row_number(request->idempotency->request);
	enum err err;
	(void)service;
	cr_assert(request->message == MSG_PASS_CREATE && waiting->shard == 3);
	cr_assert_leq(number, shard.last_new, "rows are sent in their order");
	if (number == shard.last_new) shard.last_new++;
	shard.calls++;
	if (shard.down) {
		answer(waiting, ERR_SHARD_UNAVAILABLE);
		return;
	}
	if (luck < shard.refuses)
		err = ERR_OVERLOADED;
	else if (luck < shard.refuses + shard.loses)
		err = chance_below(&shard.seed, 2) ? ERR_OUTCOME_UNKNOWN
		                                   : (decide(request), ERR_OUTCOME_UNKNOWN);
	else
		err = decide(request);
	shard.begun[shard.begun_count++] = (struct begun){waiting, err};
}

/* Delivers some of the answers; the others come later, or with the end of the session. */
void __wrap_service_turn(struct service *service, uint32_t number, dur_us wait)
{
	unsigned count = chance_below(&shard.seed, shard.begun_count + 1);
	(void)service;
	(void)number;
	shard.now = mono_after(shard.now, wait);
	if (shard.down && !shard.is_deaf) shard.down--;
	if (shard.is_deaf) return;
	for (unsigned i = 0; i < count; i++)
		answer(shard.begun[i].waiting, shard.begun[i].answer);
	memmove(shard.begun, shard.begun + count, (shard.begun_count - count) * sizeof *shard.begun);
	shard.begun_count -= count;
	if (!shard.loses || chance_below(&shard.seed, 30)) return;
	/* The shard dies: it has executed all calls and answers none. */
	for (unsigned i = 0; i < shard.begun_count; i++)
		answer(shard.begun[i].waiting, ERR_OUTCOME_UNKNOWN);
	shard.begun_count = 0;
	shard.down = 1 + chance_below(&shard.seed, 3);
}

static struct flight    *flight;
static struct account_id account;
static uint64_t          added, ended, created, failed;
static int64_t           ids[IDS_MAX];
static enum err          fates[IDS_MAX];

static void begin(void)
{
	memset(&shard, 0, sizeof shard);
	shard.seed = chance_begin();
	shard.now.v = 1000000;
	for (unsigned i = 0; i < IDS_MAX; i++)
		shard.owner[i] = NOBODY;
	added = ended = created = failed = 0;
	cr_assert_eq(flight_open(&flight, NULL, &account, WAIT_MS), OK);
}

static void end(void)
{
	flight_close(&flight);
}

TestSuite(flight, .init = begin, .fini = end);

static bool add(int id)
{
	struct row *row = flight_room(flight);
	if (!row) return false;
	buffer_append(&row->args, &id, sizeof id);
	row->place.line = added;
	ids[added++] = id;
	flight_add(flight);
	return true;
}

/* Takes finished rows and compares them with what the shard executed. */
static void take_off(void)
{
	struct row *row;
	while ((row = flight_ended(flight))) {
		cr_assert_eq(row->place.line, ended, "rows come out in their order");
		bool is_ours = shard.owner[ids[ended]] == (int64_t)ended;
		if (row->err == ERR_OUTCOME_UNKNOWN)
			cr_expect(shard.is_deaf || shard.suspended, "row %lu", ended);
		else
			cr_expect_eq(!row->err, is_ours, "row %lu: %s", ended, err_code(row->err));
		created += !row->err;
		failed += row->err != OK;
		fates[ended++] = row->err;
		flight_drop(flight);
	}
}

static void run(uint64_t count, int (*id_of)(uint64_t number))
{
	while (ended < count) {
		while (added < count && add(id_of(added)))
			;
		take_off();
		if (ended < count) flight_turn(flight);
		cr_assert_eq(flight_trouble(flight), OK);
	}
	cr_expect(flight_is_empty(flight));
	cr_expect_eq(created + failed, count);
}

/* Every tenth row repeats the one before it. */
static int with_doubles(uint64_t number)
{
	return (int)(number % 10 == 9 ? number - 1 : number);
}

static int each_its_own(uint64_t number)
{
	return (int)number;
}

static unsigned count_owned(void)
{
	unsigned count = 0;
	for (unsigned i = 0; i < IDS_MAX; i++)
		count += shard.owner[i] >= 0;
	return count;
}

Test(flight, rows_without_failures_are_sent_once)
{
	run(5000, each_its_own);
	cr_expect_eq(created, 5000);
	cr_expect_eq(shard.calls, 5000);
}

Test(flight, each_row_is_created_and_counted_once_despite_losses)
{
	shard.loses = 3;
	shard.refuses = 2;
	for (unsigned i = 7; i < 10000; i += 20)
		shard.owner[i] = ANOTHER;
	run(10000, with_doubles);
	cr_expect_eq(created, 8500);
	cr_expect_eq(count_owned(), created);
	for (unsigned i = 0; i < 10000; i += 10) {
		for (unsigned k = i; k < i + 8; k++)
			cr_expect_eq(fates[k], k % 20 == 7 ? ERR_RESOURCE_CONFLICT : OK, "row %u", k);
		/* Of two rows with one id the first to be executed creates the pass. A temporary refusal may
		 * change their order. */
		bool is_first = !fates[i + 8];
		cr_expect_eq(fates[is_first ? i + 9 : i + 8], ERR_RESOURCE_CONFLICT, "row %u", i);
		cr_expect_eq(fates[is_first ? i + 8 : i + 9], OK, "row %u", i);
	}
}

Test(flight, a_lost_row_that_is_then_refused_may_still_be_created)
{
	shard.loses = 100;
	cr_assert(add(1));
	flight_turn(flight); /* sent and lost: executed or not */
	while (shard.begun_count)
		flight_turn(flight);
	shard.loses = 0;
	shard.refuses = 100;
	for (unsigned i = 0; i < 20; i++)
		flight_turn(flight);
	shard.is_deaf = true;
	flight_stop(flight);
	while (!flight_ended(flight))
		flight_turn(flight);
	cr_expect_eq(flight_ended(flight)->err, ERR_OUTCOME_UNKNOWN);
}

Test(flight, a_stop_settles_unknown_rows_and_sends_no_others)
{
	for (int i = 0; i < 100; i++)
		cr_assert(add(i));
	shard.loses = 100;
	while (!shard.begun_count)
		flight_turn(flight);
	uint64_t tried = shard.last_new;
	flight_stop(flight);
	shard.loses = 0;
	while (!flight_is_empty(flight)) {
		take_off();
		flight_turn(flight);
	}
	cr_expect_eq(ended, tried);
	cr_expect_eq(created, tried);
	cr_expect_eq(shard.last_new, tried);
	cr_expect_eq(count_owned(), tried);
}

Test(flight, a_refusal_after_the_key_check_settles_a_row)
{
	shard.loses = 100;
	for (int i = 0; i < 100; i++)
		cr_assert(add(i));
	while (!shard.begun_count)
		flight_turn(flight);
	shard.loses = 0;
	shard.paused = true;
	for (unsigned i = 0; i < 100; i++)
		flight_turn(flight);
	flight_stop(flight);
	while (!flight_is_empty(flight)) {
		take_off();
		flight_turn(flight);
	}
	cr_expect_eq(created, count_owned());
	for (uint64_t i = 0; i < ended; i++)
		cr_expect(!fates[i] || fates[i] == ERR_PASS_PROVIDER_UNAVAILABLE, "row %lu", i);
}

Test(flight, a_stop_ends_rows_that_were_refused)
{
	shard.refuses = 100;
	for (int i = 0; i < 10; i++)
		cr_assert(add(i));
	for (unsigned i = 0; i < 10; i++)
		flight_turn(flight);
	flight_stop(flight);
	unsigned calls = shard.calls;
	while (!flight_is_empty(flight)) {
		take_off();
		flight_turn(flight);
	}
	cr_expect_eq(shard.calls, calls);
	cr_expect_eq(failed, shard.last_new);
	cr_expect_eq(fates[0], ERR_OVERLOADED);
}

Test(flight, a_silent_shard_stops_the_import)
{
	for (int i = 0; i < 10; i++)
		cr_assert(add(i));
	shard.is_deaf = true;
	mono_us from = shard.now;
	while (!flight_trouble(flight))
		flight_turn(flight);
	cr_expect_eq(flight_trouble(flight), ERR_SHARD_UNAVAILABLE);
	cr_expect_geq(mono_since(shard.now, from).v, INT64_C(1000) * WAIT_MS);
	cr_expect_leq(mono_since(shard.now, from).v, INT64_C(1000) * (WAIT_MS + 200));
	take_off();
	cr_expect_eq(failed, 10);
	cr_expect_eq(fates[9], ERR_OUTCOME_UNKNOWN);
}

Test(flight, a_suspended_account_stops_it_and_lost_rows_stay_unknown)
{
	for (int i = 0; i < 10; i++)
		cr_assert(add(i));
	shard.loses = 100;
	do
		flight_turn(flight);
	while (shard.begun_count);
	shard.suspended = true;
	shard.loses = 0;
	while (!flight_trouble(flight))
		flight_turn(flight);
	cr_expect_eq(flight_trouble(flight), ERR_ACCOUNT_SUSPENDED);
	while (!flight_is_empty(flight)) {
		take_off();
		flight_turn(flight);
	}
	cr_expect_eq(fates[0], ERR_OUTCOME_UNKNOWN);
	cr_expect_eq(created, 0);
}
