/* CLOCK_SHOW and CLOCK_SET: service time is set forward where the operator allows it, never back, and is so far ahead after a
 * restart too. */
#include "store/meta.h"

#include "actors/shard/command.h"
#include "actors/shard/engine/service_clock.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

static struct scratch     s;
static struct shard_facts facts;
static struct buffer      payload;
static struct outcome     outcome;
static const wall_us      now = {1700000000 * US_PER_SEC};

static void begin(void)
{
	scratch_open(&s);
	facts.test_clock = true;
}

static void end(void)
{
	buffer_free(&payload);
	scratch_close(&s);
}

TestSuite(clock, .init = begin, .fini = end);

static struct request request_of(const msgpack_object *args)
{
	buffer_clear(&payload);
	outcome = (struct outcome){.payload = &payload};
	return (struct request){.args = args, .view = s.view, .facts = &facts, .now = now};
}

static enum err set(int64_t offset)
{
	msgpack_object arg = {.type = MSGPACK_OBJECT_POSITIVE_INTEGER, .via.u64 = (uint64_t)offset};
	struct request request = request_of(&arg);
	enum err       err = on_CLOCK_SET(&request, &outcome);
	if (err) {
		cr_expect_eq(s.staged.count, 0);
		return err;
	}
	scratch_save(&s);
	atomic_store(&facts.clock_offset, offset); /* as the engine does */
	return OK;
}

/* The answer is {now, offset, test_clock}. */
static void expect_answer(const char *time, uint64_t offset)
{
	msgpack_object answer;
	msgpack_zone  *zone = msgpack_zone_new(1024);
	size_t         at = 0;
	cr_assert_eq(msgpack_unpack((const char *)payload.at, payload.size, &at, zone, &answer),
	             MSGPACK_UNPACK_SUCCESS);
	cr_assert(answer.type == MSGPACK_OBJECT_MAP && answer.via.map.size == 3);
	const struct msgpack_object_kv *row = answer.via.map.ptr;
	cr_expect(span_is(arg_span(&row[0].key), "now") && span_is(arg_span(&row[0].val), time));
	cr_expect(span_is(arg_span(&row[1].key), "offset") && row[1].val.via.u64 == offset);
	cr_expect(span_is(arg_span(&row[2].key), "test_clock") && arg_boolean(&row[2].val, false));
	msgpack_zone_free(zone);
}

Test(clock, is_the_walls_until_it_is_set)
{
	int64_t        offset = 1;
	struct request request = request_of(NULL);
	cr_assert_eq(clock_offset_get(s.view, &offset), OK);
	cr_expect_eq(offset, 0);
	cr_assert_eq(on_CLOCK_SHOW(&request, &outcome), OK);
	expect_answer("2023-11-14T22:13:20.000Z", 0);
}

Test(clock, is_set_forward_and_answers_as_it_then_is)
{
	int64_t offset;
	cr_assert_eq(set(90 * US_PER_SEC), OK);
	expect_answer("2023-11-14T22:14:50.000Z", 90 * US_PER_SEC);
	cr_assert_eq(clock_offset_get(s.view, &offset), OK);
	cr_expect_eq(offset, 90 * US_PER_SEC);
}

Test(clock, takes_the_same_again_and_nothing_less)
{
	int64_t offset;
	cr_assert_eq(set(90), OK);
	cr_expect_eq(set(90), OK);
	cr_expect_eq(set(89), ERR_INVALID_INPUT);
	cr_expect(span_is(outcome.field, "offset"));
	cr_expect_eq(set(0), ERR_INVALID_INPUT);
	cr_assert_eq(clock_offset_get(s.view, &offset), OK);
	cr_expect_eq(offset, 90);
}

Test(clock, is_not_set_where_the_operator_did_not_allow_it)
{
	facts.test_clock = false;
	cr_expect_eq(set(1), ERR_TEST_CLOCK_OFF);
}

Test(clock, a_setting_of_another_size_is_damage)
{
	int64_t offset;
	cr_assert_eq(write_put(&s.staged, TABLE_META, span_str("clock_offset"), span_str("1234567")), OK);
	scratch_save(&s);
	cr_expect_eq(clock_offset_get(s.view, &offset), ERR_DAMAGED);
}

/* Lives of a shard, one after the other: service time begins at what the journal last saw, with the offset that was stored,
 * whether or not a turn has passed since it was set. */
Test(clock, goes_on_over_restarts)
{
	uint64_t state = chance_begin();
	int64_t  wall = now.v, boot = 0, offset = 0, last = 0, journal = 0;
	for (unsigned life = 0; life < 50; life++) {
		struct service_clock clock = {.now_us = 0};
		s.view = db_view(s.db, &s.staged, &s.arena);
		cr_assert_eq(clock_offset_get(s.view, &clock.offset_us), OK);
		cr_assert_eq(clock.offset_us, offset);
		wall += chance_below(&state, 2) ? -(int64_t)chance_below(&state, 60000000) : 5000000;
		service_clock_begin(&clock, (wall_us){journal}, (wall_us){wall}, (dur_us){boot});
		for (unsigned i = 0; i < 5; i++) {
			int64_t step = chance_below(&state, 3000000);
			wall += step;
			boot += step;
			int64_t service = service_clock_now(&clock, (wall_us){wall}, (dur_us){boot}).v;
			cr_assert_geq(service, last, "life %u", life);
			last = journal = service;
			if (chance_below(&state, 3)) continue;
			offset += chance_below(&state, 90000000);
			cr_assert_eq(set(offset), OK);
			clock.offset_us = offset;
		}
	}
	cr_expect_gt(last, now.v + offset - 60 * US_PER_SEC * 50);
}
