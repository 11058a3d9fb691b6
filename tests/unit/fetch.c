/* The order and the pace in which the timer hands images over. The test is the endpoint, the shard and the clock. */
#include "actors/timer/fetch.h"
#include "actors/rt/time.h"
#include "schemas/api/image.h"
#include "schemas/limits.h"
#include "schemas/png.h"
#include "tests/unit/args.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES_MAX = 64, PART_US = (int)((int64_t)IMAGE_PART_BYTES * US_PER_SEC / IMAGE_BYTES_PER_S) };

/* A call to the shard that has no answer yet. */
struct open_call {
	struct asked     *asked;
	struct account_id account;
	enum message      message;
};

static struct fetching *fetching;
static uint32_t         in_hand;
static mono_us          now = {1000000};
static struct {
	struct egress_job *jobs[IMAGES_MAX];
	unsigned           job_count;
	struct open_call   calls[IMAGES_MAX];
	unsigned           call_count;
	uint64_t           answered[IMAGES_MAX]; /* call ids of FETCH, in order */
	unsigned           answer_count;
	struct buffer      bytes;
} world;

mono_us     __wrap_time_mono(void);
enum err    __wrap_egress_start(struct egress *egress, const struct egress_request *request, mono_us at);
enum err    __wrap_rpc_begin(struct rpc *rpc, struct call *head, void *user, msgpack_packer *packer);
void        __wrap_rpc_commit(struct rpc *rpc);
enum err    __wrap_rpc_answer(struct rpc *rpc, struct frame_out *replies, uint64_t epoch);
const char *__wrap_png_fault(struct span file, struct png_size *size);

mono_us __wrap_time_mono(void)
{
	return now;
}

enum err __wrap_egress_start(struct egress *egress, const struct egress_request *request, mono_us at)
{
	(void)egress;
	(void)at;
	world.jobs[world.job_count++] = request->user;
	return OK;
}

enum err __wrap_rpc_begin(struct rpc *rpc, struct call *head, void *user, msgpack_packer *packer)
{
	(void)rpc;
	cr_assert_lt(world.call_count, (unsigned)IMAGES_MAX);
	world.calls[world.call_count++] = (struct open_call){
	    .asked = user, .account = head->account, .message = head->message};
	buffer_clear(&world.bytes);
	*packer = buffer_packer(&world.bytes);
	return OK;
}

void __wrap_rpc_commit(struct rpc *rpc)
{
	(void)rpc;
}

enum err __wrap_rpc_answer(struct rpc *rpc, struct frame_out *replies, uint64_t epoch)
{
	msgpack_zone zone;
	struct frame frame;
	struct reply reply;
	(void)rpc;
	msgpack_zone_init(&zone, 1024);
	cr_assert_eq(frame_open(frame_seal_replies(replies, epoch), &zone, &frame), OK);
	cr_assert_eq(reply_open(&frame.items[0], &reply), OK);
	cr_expect_eq(reply.err, OK);
	world.answered[world.answer_count++] = reply.id;
	msgpack_zone_destroy(&zone);
	return OK;
}

const char *__wrap_png_fault(struct span file, struct png_size *size)
{
	(void)file;
	*size = (struct png_size){.width = 1, .height = 1};
	return NULL;
}

static void begin(void)
{
	static const struct address_rules none;
	cr_assert_eq(fetching_open(&fetching, NULL, NULL, &none, &in_hand), OK);
}

static void end(void)
{
	fetching_close(&fetching);
	cr_expect_eq(in_hand, 0);
	buffer_free(&world.bytes);
}

TestSuite(fetch, .init = begin, .fini = end);

/* FETCH of an account's image, which arrives at once. */
static void image(uint8_t account, uint64_t id, size_t size)
{
	const msgpack_object args[ARGS_FETCH] = {value_text("https://example.com/a.png")};
	const struct call    call = {
	       .message = MSG_FETCH, .id = id, .has_account = true, .account = {{account}}, .args = args};
	uint8_t *bytes = calloc(1, size);
	fetching_begin(fetching, &call, 1, now);
	struct egress_job          *job = world.jobs[world.job_count - 1];
	const struct egress_outcome outcome = {.status = 200, .body = span_of(bytes, size)};
	job->on_done(job, &outcome);
	free(bytes);
}

static unsigned calls_of(uint8_t account)
{
	unsigned count = 0;
	for (unsigned i = 0; i < world.call_count; i++)
		count += world.calls[i].account.b[0] == account;
	return count;
}

/* The shard answers every open call. */
static void store_all(void)
{
	struct open_call calls[IMAGES_MAX];
	unsigned         count = world.call_count;
	memcpy(calls, world.calls, sizeof calls);
	world.call_count = 0;
	for (unsigned i = 0; i < count; i++)
		calls[i].asked->on_reply(calls[i].asked, &(struct reply){.err = OK});
}

static dur_us turn_after(int64_t us)
{
	now = mono_after(now, (dur_us){us});
	return fetching_turn(fetching, now);
}

Test(fetch, an_account_has_few_images_in_progress_and_another_one_goes_before_the_rest)
{
	for (uint64_t id = 1; id <= 8; id++)
		image(1, id, IMAGE_PART_BYTES * 2);
	image(2, 9, 10);
	cr_expect_eq(calls_of(1), 4);
	cr_expect_eq(calls_of(2), 1, "behind eight, but of another account");
	for (unsigned i = 0; i < 10; i++)
		(void)turn_after(PART_US);
	cr_expect_eq(calls_of(1), 4, "the shard stores none: a slow disk");
}

Test(fetch, many_accounts_share_few_places)
{
	for (uint8_t account = 1; account <= 20; account++)
		image(account, account, 10);
	unsigned begun = world.call_count;
	cr_expect_geq(begun, 4);
	cr_expect_lt(begun, 20);
	while (world.answer_count < 20) {
		cr_assert(world.call_count || fetching_turn(fetching, now).v < INT64_MAX, "nothing goes on");
		store_all();
		(void)turn_after(PART_US);
		cr_expect_leq(world.call_count, begun);
	}
}

/* Its images all go on, the longest in progress first, whatever comes meanwhile. */
Test(fetch, none_starves)
{
	for (uint64_t id = 1; id <= 4; id++)
		image(1, id, IMAGE_PART_BYTES * 2);
	for (uint64_t id = 5; world.answer_count < 4; id++) {
		cr_assert_lt(id, 30);
		image(1, id, 10);
		store_all();
		(void)turn_after(PART_US);
		store_all();
		(void)turn_after(PART_US);
	}
	for (uint64_t id = 1; id <= 4; id++)
		cr_expect_eq(world.answered[id - 1], id);
}

Test(fetch, parts_follow_at_the_pace)
{
	enum { AT_ONCE = 4 };
	image(1, 1, (AT_ONCE + 1) * IMAGE_PART_BYTES + 1);
	for (unsigned i = 0; i < AT_ONCE; i++) {
		cr_assert_eq(world.call_count, 1, "after a pause");
		cr_expect_eq(turn_after(0).v, INT64_MAX, "the shard has not stored the part");
		store_all();
		(void)turn_after(0);
	}
	cr_expect_eq(world.call_count, 0, "too early");
	cr_expect_eq(turn_after(PART_US - 1).v, 1);
	cr_expect_eq(world.call_count, 0);
	(void)turn_after(1);
	cr_assert_eq(world.call_count, 1);
	store_all();
	(void)turn_after(PART_US);
	cr_assert_eq(world.call_count, 1);
	cr_expect_eq(world.calls[0].message, MSG_IMAGE_PUT);
	store_all();
	(void)turn_after(1);
	cr_assert_eq(world.call_count, 1, "a byte takes no time");
	cr_expect_eq(world.calls[0].message, MSG_IMAGE_NAME);
	cr_expect_eq(world.answer_count, 0);
	store_all();
	cr_expect_eq(world.answer_count, 1);
}

Test(fetch, a_slow_shard_makes_no_longer_pause)
{
	image(1, 1, IMAGE_PART_BYTES * 2);
	now = mono_after(now, (dur_us){10 * PART_US});
	store_all();
	(void)turn_after(0);
	cr_expect_eq(world.call_count, 1);
}

Test(fetch, an_account_has_its_images_in_order)
{
	for (uint64_t id = 1; id <= 3; id++)
		image(1, id, IMAGE_PART_BYTES * 3);
	for (unsigned turns = 0; world.answer_count < 3; turns++) {
		cr_assert_lt(turns, 100);
		store_all();
		(void)turn_after(PART_US);
	}
	for (uint64_t id = 1; id <= 3; id++)
		cr_expect_eq(world.answered[id - 1], id);
}
