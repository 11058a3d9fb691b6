/* CLOCK_SHOW and CLOCK_SET: service time can be set forward where the operator allows it, never back, and
 * keeps its offset across a restart. */
#include "store/meta.h"

#include "actors/shard/command.h"
#include "actors/shard/engine/service_clock.h"
#include "tests/unit/args.h"
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
	msgpack_object arg = value_integer((uint64_t)offset);
	struct request request = request_of(&arg);
	enum err       err = on_CLOCK_SET(&request, &outcome);
	if (err) {
		cr_expect_eq(s.staged.count, 0);
		return err;
	}
	scratch_save(&s);
	atomic_store(&facts.clock_offset, offset); /* like the engine */
	return OK;
}

/* The answer is {now, offset, test_clock}. */
static void expect_answer(const char *time, uint64_t offset)
{
	msgpack_zone  *zone = msgpack_zone_new(1024);
	msgpack_object answer = value_unpacked(&payload, zone);
	cr_assert(answer.type == MSGPACK_OBJECT_MAP && answer.via.map.size == 3);
	const struct msgpack_object_kv *row = answer.via.map.ptr;
	cr_expect(span_is(arg_span(&row[0].key), "now") && span_is(arg_span(&row[0].val), time));
	cr_expect(span_is(arg_span(&row[1].key), "offset") && row[1].val.via.u64 == offset);
	cr_expect(span_is(arg_span(&row[2].key), "test_clock") && arg_boolean(&row[2].val, false));
	msgpack_zone_free(zone);
}

Test(clock, equals_the_wall_clock_until_it_is_set)
{
	int64_t        offset = 1;
	struct request request = request_of(NULL);
	cr_assert_eq(clock_offset_get(s.view, &offset), OK);
	cr_expect_eq(offset, 0);
	cr_assert_eq(on_CLOCK_SHOW(&request, &outcome), OK);
	expect_answer("2023-11-14T22:13:20.000Z", 0);
}

Test(clock, is_set_forward_and_returns_the_new_time)
{
	int64_t offset;
	cr_assert_eq(set(90 * US_PER_SEC), OK);
	expect_answer("2023-11-14T22:14:50.000Z", 90 * US_PER_SEC);
	cr_assert_eq(clock_offset_get(s.view, &offset), OK);
	cr_expect_eq(offset, 90 * US_PER_SEC);
}

Test(clock, accepts_the_same_offset_again_and_no_smaller_one)
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

Test(clock, is_not_set_unless_the_operator_allows_it)
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

/* Several lives of a shard: service time begins at the last time in the journal, with the stored offset, also
 * if no turn has passed since it was set. */
Test(clock, continues_across_restarts)
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
