/* Creations that wait for the issuer: one asks for each id, the rest wait behind it, in order. */
#include "actors/shard/engine/parked.h"

#include "schemas/api/pass.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct parking parking;
static msgpack_object args[ARGS_PASS_CREATE];
static char           pass_id[32];

static void begin(void)
{
	parking_open(&parking);
}

static void end(void)
{
	parking_close(&parking);
}

TestSuite(parked, .init = begin, .fini = end);

/* A creation of `id` in account `account`, by call number `call_id`. */
static enum err add(char account, const char *id, uint64_t call_id, int64_t due, struct parked **parked)
{
	struct call call = {.id = call_id, .message = MSG_PASS_CREATE, .has_account = true, .args = args};
	struct peer peer = {.size = 3, .id = {1, 2, (uint8_t)call_id}};
	call.account.b[0] = (uint8_t)account;
	snprintf(pass_id, sizeof pass_id, "%s", id);
	args[ARG_PASS_CREATE_pass_id] = (msgpack_object){
	    .type = MSGPACK_OBJECT_STR, .via.str = {.size = (uint32_t)strlen(id), .ptr = pass_id}};
	enum err err = parking_add(&parking, &peer, &call, (mono_us){due}, parked);
	memset(pass_id, '?', sizeof pass_id); /* the frame it came in is gone */
	return err;
}

static uint64_t park(char account, const char *id, uint64_t call_id, int64_t due)
{
	struct parked *parked;
	cr_assert_eq(add(account, id, call_id, due, &parked), OK);
	return parked->ask_id;
}

/* Whose it is; frees it. 0: none. */
static uint64_t done(struct parked *parked)
{
	uint64_t id = parked ? parked->kept.call.id : 0;
	if (parked) cr_expect_eq(parked->peer.id[2], (uint8_t)id);
	parked_free(&parked);
	cr_expect_null(parked);
	return id;
}

Test(parked, keeps_the_whole_call)
{
	struct parked *parked;
	cr_assert_eq(add('a', "p1", 7, 5, &parked), OK);
	const struct call *kept = &parked->kept.call;
	cr_expect(kept->id == 7 && kept->message == MSG_PASS_CREATE && kept->account.b[0] == 'a');
	cr_expect(span_is(arg_span(&kept->args[ARG_PASS_CREATE_pass_id]), "p1"));
	cr_expect_not(arg_present(&kept->args[ARG_PASS_CREATE_visible]));
	cr_expect(parked->due.v == 5 && parked->peer.size == 3 && parking.count == 1);
}

Test(parked, keeps_what_makes_the_call_happen_once)
{
	struct parked     *parked;
	struct idempotency idempotency = {.key = {1, 2}, .request = {3}};
	struct call call = {.id = 7, .message = MSG_PASS_CREATE, .args = args, .idempotency = &idempotency};
	struct peer peer = {.size = 1};
	cr_assert_eq(parking_add(&parking, &peer, &call, (mono_us){5}, &parked), OK);
	struct idempotency want = idempotency;
	memset(&idempotency, '?', sizeof idempotency); /* the frame it came in is gone */
	cr_assert_not_null(parked->kept.call.idempotency);
	cr_expect_arr_eq(parked->kept.call.idempotency, &want, sizeof want);
}

Test(parked, asks_once_for_each_id_of_each_account)
{
	uint64_t first = park('a', "p", 1, 10), second = park('a', "q", 2, 20), third = park('b', "p", 3, 30);
	cr_expect(first && second && third);
	cr_expect(first != second && second != third && first != third);
	cr_expect_eq(park('a', "p", 4, 40), 0);
	cr_expect_eq(park('b', "p", 5, 50), 0);
	cr_expect_neq(park('b', "pp", 6, 60), 0);
	cr_expect_eq(parking.count, 6);
}

Test(parked, is_taken_by_what_was_asked)
{
	uint64_t first = park('a', "p", 1, 10), second = park('a', "q", 2, 20);
	cr_expect_eq(done(parking_take(&parking, 0)), 0);
	cr_expect_eq(done(parking_take(&parking, 999)), 0);
	cr_expect_eq(done(parking_take(&parking, second)), 2);
	cr_expect_eq(done(parking_take(&parking, second)), 0);
	cr_expect_eq(done(parking_take(&parking, first)), 1);
	cr_expect_eq(parking.count, 0);
	cr_expect_eq(done(parking_take(&parking, park('a', "p", 3, 30))),
	             3); /* the list goes on behind its new end */
}

Test(parked, those_behind_come_in_order_and_only_of_the_same_id)
{
	uint64_t ask = park('a', "p", 1, 10);
	park('a', "q", 2, 20);
	park('a', "p", 3, 30);
	park('b', "p", 4, 40);
	park('a', "q", 5, 50);
	park('a', "p", 6, 60);
	struct parked *parked = parking_take(&parking, ask);
	cr_assert_not_null(parked);
	cr_expect_eq(done(parking_take_behind(&parking, parked)), 3);
	cr_expect_eq(done(parking_take_behind(&parking, parked)), 6);
	cr_expect_eq(done(parking_take_behind(&parking, parked)), 0);
	cr_expect_eq(done(parked), 1);
	cr_expect_eq(parking.count, 3);
	cr_expect_eq(park('a', "q", 7, 70), 0);
	cr_expect_eq(done(parking_take_due(&parking, (mono_us){20})),
	             2); /* what is left has kept its order and its end */
	cr_expect_eq(done(parking_take(&parking, park('a', "r", 8, 80))), 8);
}

Test(parked, an_id_is_free_again_once_its_asker_is_gone)
{
	cr_expect_eq(done(parking_take(&parking, park('a', "p", 1, 10))), 1);
	cr_expect_neq(park('a', "p", 2, 20), 0);
}

Test(parked, comes_due_in_order_and_never_for_those_behind)
{
	park('a', "p", 1, 10);
	park('a', "p", 2, 15); /* waits behind: it shares its asker's fate */
	park('a', "q", 3, 20);
	park('a', "r", 4, 30);
	cr_expect_eq(done(parking_take_due(&parking, (mono_us){9})), 0);
	cr_expect_eq(done(parking_take_due(&parking, (mono_us){10})), 1);
	cr_expect_eq(done(parking_take_due(&parking, (mono_us){19})), 0);
	cr_expect_eq(done(parking_take_due(&parking, (mono_us){100})), 3);
	cr_expect_eq(done(parking_take_due(&parking, (mono_us){100})), 4);
	cr_expect_eq(done(parking_take_due(&parking, (mono_us){100})), 0);
	cr_expect_eq(parking.count, 1);
}

Test(parked, has_a_bound)
{
	struct parked *parked;
	char           id[16];
	for (unsigned i = 0; i < PARKED_MAX; i++) {
		snprintf(id, sizeof id, "%u", i);
		cr_assert_eq(add('a', id, i + 1, i, &parked), OK);
	}
	cr_expect_eq(add('a', "more", 1, 1, &parked), ERR_OVERLOADED);
	cr_expect_eq(done(parking_take_due(&parking, (mono_us){0})), 1);
	cr_expect_eq(add('a', "more", 1, 1, &parked), OK);
}
