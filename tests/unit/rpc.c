/* A session: how it is established, how calls are sent and answered, and what credit allows. */
#include "schemas/api/image.h"
#include "tests/unit/callee.h"
#include "tests/unit/patience.h"

#include <poll.h>

TestSuite(rpc_session, .init = begin, .fini = end);
TestSuite(rpc, .init = begin_up, .fini = end);

/* ---- establishing ---- */

Test(rpc_session, identifies_itself_and_is_established_by_the_welcome)
{
	uint64_t id = 0;
	cr_expect_eq(rpc_state(rpc), RPC_DOWN);
	cr_expect_eq(call_sized(MSG_PASS_GET, 1, 10, &id), ERR_SHARD_UNAVAILABLE);
	cr_assert(callee_gets(FRAME_HELLO));
	cr_expect(frame.role == ROLE_HTTP && frame.index == 3);
	cr_expect_eq(rpc_state(rpc), RPC_HELLO);
	cr_expect_eq(call_sized(MSG_PASS_GET, 1, 10, &id), ERR_SHARD_UNAVAILABLE);
	cr_expect_eq(rpc_epoch(rpc), 0);
	callee_welcomes(EPOCH, 1, 1 << 20);
	cr_assert(pump_until_state(RPC_UP));
	cr_expect_eq(rpc_epoch(rpc), EPOCH);
	cr_expect_eq(end_count, 0);
}

Test(rpc_session, repeats_its_hello_every_half_second)
{
	cr_assert(callee_gets(FRAME_HELLO));
	const mono_us here = now();
	for (int i = 0; i < 50; i++, usleep(1000)) {
		later.v -= now().v - here.v; /* time stands still, however long the machine takes */
		pump();
	}
	cr_expect_eq(channel_recv(callee, &packet), ERR_WOULD_BLOCK);
	later.v += 501 * US_PER_MS;
	cr_expect(callee_gets(FRAME_HELLO));
	/* Both HELLOs are welcomed; the second welcome changes nothing. */
	callee_welcomes(EPOCH, 1, 1 << 20);
	callee_welcomes(EPOCH, 1, 1 << 20);
	cr_assert(pump_until_state(RPC_UP));
	uint64_t id = call(MSG_PASS_LOYALTY, 1);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	callee_replies(EPOCH, id, OK, 0);
	cr_assert(pump_until_ends(1));
	expect_end(0, 1, OK);
}

/* ---- calls and answers ---- */

Test(rpc, batches_calls_and_matches_their_answers)
{
	uint64_t    ids[3];
	struct call got;
	for (int i = 0; i < 3; i++)
		ids[i] = call(MSG_PASS_GET, i);
	cr_expect_eq(rpc_outstanding(rpc), 3);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	cr_assert(frame.count == 3 && frame.epoch == EPOCH && frame.placement_version == 1);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(call_open(&frame.items[i], &got), OK);
		cr_expect_eq(got.id, ids[i]);
	}
	callee_replies(EPOCH, ids[2], OK, 0);
	callee_replies(EPOCH, ids[0], ERR_RESOURCE_NOT_FOUND, 0);
	callee_replies(EPOCH, ids[1], OK, REPLY_ACCEPTED);
	cr_assert(pump_until_ends(3));
	expect_end(0, 2, OK);
	expect_end(1, 0, ERR_RESOURCE_NOT_FOUND);
	expect_end(2, 1, OK);
	cr_expect_eq(ends[2].flags, (unsigned)REPLY_ACCEPTED);
	cr_expect_eq(rpc_outstanding(rpc), 0);
}

Test(rpc, sends_nothing_for_an_aborted_call)
{
	struct call    head = {.message = MSG_PASS_GET};
	msgpack_packer packer;
	(void)call(MSG_PASS_GET, 1);
	cr_assert_eq(rpc_begin(rpc, &head, NULL, &packer), OK);
	msgpack_pack_array(&packer, 5);
	rpc_abort(rpc);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	cr_expect_eq(frame.count, 1);
	cr_expect_eq(rpc_outstanding(rpc), 1);
}

Test(rpc, delivers_parts_until_the_last)
{
	uint64_t id = call(MSG_PASS_LIST, 7);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	callee_replies(EPOCH, id, OK, REPLY_MORE);
	callee_replies(EPOCH, id, OK, REPLY_MORE);
	cr_assert(pump_until_ends(2));
	cr_expect_eq(rpc_outstanding(rpc), 1);
	callee_replies(EPOCH, id, OK, 0);
	cr_assert(pump_until_ends(3));
	cr_expect_eq(rpc_outstanding(rpc), 0);
	cr_expect(ends[1].flags == REPLY_MORE && ends[2].flags == 0);
}

Test(rpc, ignores_answers_without_a_call)
{
	uint64_t id = call(MSG_PASS_GET, 1);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	callee_replies(EPOCH, id, OK, 0);
	callee_replies(EPOCH, id, OK, 0);          /* a second time */
	callee_replies(EPOCH, id + 1, OK, 0);      /* an unused slot */
	callee_replies(EPOCH, id + 100000, OK, 0); /* not a slot */
	callee_replies(EPOCH, 0, OK, 0);
	cr_assert(pump_until_ends(1));
	uint64_t next = call(MSG_PASS_GET, 2); /* its slot was used before */
	cr_expect_neq(next, id);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	callee_replies(EPOCH, id, ERR_INTERNAL, 0);
	callee_replies(EPOCH, next, OK, 0);
	cr_assert(pump_until_ends(2));
	expect_end(0, 1, OK);
	expect_end(1, 2, OK);
	cr_expect_eq(rpc_state(rpc), RPC_UP);
}

Test(rpc, a_forgotten_call_is_not_reported_but_uses_credit)
{
	uint64_t id = call(MSG_PASS_GET, 1);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	rpc_forget(rpc, id);
	rpc_forget(rpc, 12345); /* any id is fine */
	cr_expect_eq(rpc_outstanding(rpc), 1);
	callee_replies(EPOCH, id, OK, REPLY_MORE);
	callee_replies(EPOCH, id, OK, 0);
	cr_expect(within_time((pump(), rpc_outstanding(rpc) == 0)));
	cr_expect_eq(end_count, 0);
}

Test(rpc, a_callback_can_make_a_call)
{
	uint64_t id = call(MSG_PASS_GET, 1);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	call_again = true;
	callee_replies(EPOCH, id, OK, 0);
	cr_assert(callee_gets(FRAME_CALLS)); /* without an explicit flush */
	cr_expect(frame.count == 1 && end_count == 1);
}

/* A send may consume the wake-up of a message that arrives with it. A loop that sends and then sleeps has to
 * check. */
Test(rpc, reports_after_a_send_that_a_message_has_arrived)
{
	struct pollfd woken = {.fd = rpc_fd(rpc), .events = POLLIN};
	uint64_t      id = call(MSG_PASS_GET, 1);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	pump();
	cr_expect_not(rpc_waiting(rpc));
	callee_replies(EPOCH, id, OK, 0);
	cr_assert_eq(poll(&woken, 1, patience_ms(3000)), 1);
	(void)call(MSG_PASS_GET, 2);
	flush();
	cr_expect(rpc_waiting(rpc));
	cr_assert(pump_until_ends(1));
	cr_expect_not(rpc_waiting(rpc));
}

/* ---- a loop that reports readable descriptors ---- */

static mono_us still; /* no time passes, so that nothing is checked because of time */

static bool pump_still(void)
{
	return rpc_pump(rpc, still, 16);
}

static bool fills(int fd)
{
	struct pollfd woken = {.fd = fd, .events = POLLIN};
	return poll(&woken, 1, patience_ms(3000)) == 1;
}

/* One call is with the callee, and everything has been checked. */
static uint64_t heed_wakes(void)
{
	rpc_heeds_wakes(rpc);
	uint64_t id = call(MSG_PASS_GET, 1);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	still = now();
	while (pump_still())
		continue;
	return id;
}

Test(rpc, reads_only_channels_that_woke_it)
{
	callee_replies(EPOCH, heed_wakes(), OK, 0);
	cr_assert(fills(rpc_fd(rpc)));
	pump_still();
	cr_expect_eq(end_count, 0);
	rpc_woken(rpc, RPC_WAKE_LINK);
	pump_still();
	cr_expect_eq(end_count, 0);
	rpc_woken(rpc, RPC_WAKE_MAIL);
	pump_still();
	expect_end(0, 1, OK);
}

Test(rpc, reads_channels_whose_wake_up_a_send_may_have_consumed)
{
	callee_replies(EPOCH, heed_wakes(), OK, 0);
	cr_assert(fills(rpc_fd(rpc)));
	(void)call(MSG_PASS_GET, 2);
	flush();
	pump_still();
	cr_assert_eq(end_count, 1);
	expect_end(0, 1, OK);
}

Test(rpc, reads_every_channel_from_time_to_time)
{
	callee_replies(EPOCH, heed_wakes(), OK, 0);
	cr_assert(fills(rpc_fd(rpc)));
	still.v += 51 * US_PER_MS;
	pump_still();
	cr_assert_eq(end_count, 1);
}

Test(rpc, continues_where_its_budget_ended)
{
	uint64_t id = heed_wakes();
	for (int i = 0; i < 3; i++)
		callee_replies(EPOCH, id, OK, REPLY_MORE);
	cr_assert(within_time(rpc_waiting(rpc)));
	usleep(20000);
	rpc_woken(rpc, RPC_WAKE_MAIL);
	cr_expect(rpc_pump(rpc, still, 1));
	cr_expect(rpc_pump(rpc, still, 1));
	cr_expect(rpc_pump(rpc, still, 1));
	cr_expect_eq(end_count, 3);
}

/* Three arrive; a turn accepts no more than 256 KiB. */
Test(rpc, accepts_few_large_answers_in_a_turn)
{
	uint64_t id = heed_wakes();
	for (int i = 0; i < 3; i++)
		callee_replies_sized(EPOCH, id, OK, REPLY_MORE, 200 << 10);
	cr_assert(within_time(rpc_waiting(rpc)));
	usleep(20000);
	rpc_woken(rpc, RPC_WAKE_MAIL);
	cr_expect(pump_still());
	cr_expect_eq(end_count, 2);
	while (pump_still())
		continue;
	cr_expect_eq(end_count, 3);
}

Test(rpc, checks_the_connection_when_it_woke_the_loop)
{
	(void)heed_wakes();
	channel_close(&callee);
	cr_assert(fills(rpc_link_fd(rpc)));
	pump_still();
	cr_expect_eq(rpc_state(rpc), RPC_UP);
	rpc_woken(rpc, RPC_WAKE_LINK);
	pump_still();
	cr_expect_neq(rpc_state(rpc), RPC_UP);
	cr_expect_eq(end_count, 1);
}

/* ---- the other side's calls ---- */

static void answer_calls(void *user, struct rpc *from, const struct frame *calls)
{
	*(unsigned *)user += calls->count;
	struct frame_out none = {.count = 0};
	cr_expect_eq(rpc_answer(from, &none, 7), OK);
	buffer_free(&none.bytes);
}

Test(rpc, serves_the_calls_of_the_other_side)
{
	unsigned         served = 0;
	struct frame_out out = {0};
	struct call      head = {.id = 5, .message = MSG_FETCH};
	rpc_serve(rpc, answer_calls, &served);
	frame_call(&out, &head);
	msgpack_packer packer = frame_out_packer(&out);
	msgpack_pack_array(&packer, ARGS_FETCH);
	pack_text(&packer, "https://a/");
	callee_sends(frame_seal_calls(&out, 7, 1, 1));
	cr_assert(callee_gets(FRAME_REPLIES));
	cr_expect(frame.epoch == 7 && served == 1);
	buffer_free(&out.bytes);
}

/* ---- credit ---- */

Test(rpc_session, outstanding_calls_are_limited_by_credit)
{
	uint64_t first = 0, id = 0;
	cr_assert(callee_gets(FRAME_HELLO));
	callee_welcomes(EPOCH, 2, 1 << 20);
	cr_assert(pump_until_state(RPC_UP));
	first = call(MSG_PASS_GET, 1);
	(void)call(MSG_PASS_GET, 2);
	cr_expect_eq(call_sized(MSG_PASS_GET, 3, 10, &id), ERR_OVERLOADED);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	cr_expect_eq(call_sized(MSG_PASS_GET, 3, 10, &id), ERR_OVERLOADED);
	callee_replies(EPOCH, first, OK, 0);
	cr_assert(pump_until_ends(1));
	cr_expect_eq(call_sized(MSG_PASS_GET, 3, 10, &id), OK);
	cr_expect_eq(call_sized(MSG_PASS_GET, 4, 10, &id), ERR_OVERLOADED);
}

Test(rpc_session, counts_the_bytes_of_its_calls_too)
{
	uint64_t first = 0, id = 0;
	cr_assert(callee_gets(FRAME_HELLO));
	callee_welcomes(EPOCH, 100, 1000);
	cr_assert(pump_until_state(RPC_UP));
	cr_assert_eq(call_sized(MSG_PASS_GET, 1, 600, &first), OK);
	cr_assert_eq(call_sized(MSG_PASS_GET, 2, 600, &id), OK);  /* refused once its size is known */
	cr_assert_eq(call_sized(MSG_PASS_GET, 3, 2000, &id), OK); /* could never be sent */
	cr_expect_eq(end_count, 0);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	cr_expect_eq(frame.count, 1);
	cr_assert(pump_until_ends(2));
	expect_end(0, 2, ERR_OVERLOADED);
	expect_end(1, 3, ERR_PAYLOAD_TOO_LARGE);
	callee_replies(EPOCH, first, OK, 0);
	cr_assert(pump_until_ends(3));
	cr_assert_eq(call_sized(MSG_PASS_GET, 4, 600, &id), OK);
	pump();
	cr_expect_eq(end_count, 3);
}

/* A stopped callee keeps what it was sent in memory, for any time. */
Test(rpc_session, unreceived_bytes_return_no_credit)
{
	uint64_t id = 0;
	cr_assert(callee_gets(FRAME_HELLO));
	callee_welcomes(EPOCH, 100, 1000);
	cr_assert(pump_until_state(RPC_UP));
	cr_assert_eq(call_sized(MSG_PASS_GET, 1, 600, &id), OK);
	flush();
	later.v += 10 * US_PER_SEC;
	cr_assert(pump_until_ends(1));
	expect_end(0, 1, ERR_SHARD_UNAVAILABLE);
	cr_assert_eq(call_sized(MSG_PASS_GET, 2, 600, &id), OK);
	cr_assert(pump_until_ends(2));
	expect_end(1, 2, ERR_OVERLOADED);
	cr_assert(callee_gets(FRAME_CALLS));
	id = call(MSG_PASS_GET, 3);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	callee_replies(EPOCH, id, OK, 0);
	cr_assert(pump_until_ends(3));
	cr_assert_eq(call_sized(MSG_PASS_GET, 4, 600, &id), OK);
	pump();
	cr_expect_eq(end_count, 3);
}

Test(rpc_session, a_receipt_for_more_than_was_sent_ends_the_session)
{
	struct frame_out out = {0};
	(void)frame_seal_replies(&out, EPOCH);
	cr_assert(callee_gets(FRAME_HELLO));
	callee_welcomes(EPOCH, 100, 1000);
	cr_assert(pump_until_state(RPC_UP));
	callee_sends_items(&out, 1);
	cr_expect(callee_gets(FRAME_HELLO));
}

Test(rpc_session, is_established_only_by_its_own_welcome)
{
	mono_us first;
	cr_assert(callee_gets(FRAME_HELLO));
	first = begun;
	callee_welcomes(EPOCH, 100, 1000);
	cr_assert(pump_until_state(RPC_UP));
	callee_replies(0, 1, ERR_SHARD_UNAVAILABLE, 0);
	cr_assert(callee_gets(FRAME_HELLO));
	cr_expect_gt(begun.v, first.v);
	begun = first;
	callee_welcomes(EPOCH, 100, 1000);
	later.v += US_PER_SEC;
	cr_assert(callee_gets(FRAME_HELLO), "again: the first was no welcome for it");
	cr_expect_eq(rpc_state(rpc), RPC_HELLO);
	first = begun;
	callee_welcomes(EPOCH, 100, 1000);
	cr_assert(pump_until_state(RPC_UP));
	cr_expect_eq(begun.v, first.v);
}

/* ---- receipts ---- */

Test(rpc, sends_receipts)
{
	uint64_t id = call(MSG_PASS_GET, 1);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	cr_expect_eq(frame.taken, 0);
	callee_replies_sized(EPOCH, id, OK, REPLY_MORE, 1000);
	cr_assert(pump_until_ends(1));
	cr_expect_eq(channel_recv(callee, &packet), ERR_WOULD_BLOCK,
	             "too few bytes for an immediate receipt");
	callee_replies_sized(EPOCH, id, OK, REPLY_MORE, RECEIPT_EVERY_BYTES);
	cr_assert(callee_gets(FRAME_CALLS));
	cr_expect_eq(frame.count, 0);
	cr_expect_eq(frame.taken, callee_sent);
	cr_expect_eq(frame.waiting, 1);
	callee_replies_sized(EPOCH, id, OK, 0, 5000);
	cr_assert(pump_until_ends(3));
	(void)call(MSG_PASS_GET, 2);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	cr_expect_eq(frame.count, 1);
	cr_expect_eq(frame.taken, callee_sent, "the receipt is sent with a call");
}

Test(rpc, sends_a_receipt_on_request)
{
	struct frame_out out = {0};
	(void)frame_seal_replies(&out, EPOCH);
	callee_sends_items(&out, 0);
	cr_assert(callee_gets(FRAME_CALLS));
	cr_expect_eq(frame.count, 0);
	cr_expect_eq(frame.taken, callee_sent);
	cr_expect_eq(end_count, 0);
}

Test(rpc_session, splits_the_calls_of_a_turn_into_valid_frames)
{
	uint64_t id = 0;
	unsigned got = 0, frames = 0;
	cr_assert(callee_gets(FRAME_HELLO));
	callee_welcomes(EPOCH, SESSION_CREDIT_COMMANDS, SESSION_CREDIT_BYTES);
	cr_assert(pump_until_state(RPC_UP));
	for (int i = 0; i < 10; i++)
		cr_assert_eq(call_sized(MSG_PASS_GET, i, 300000, &id), OK);
	flush();
	for (; got < 10; got += frame.count, frames++) {
		cr_assert(callee_gets(FRAME_CALLS));
		cr_expect_lt(packet.bytes.size, FRAME_NODES_MAX);
	}
	cr_expect_eq(frames, 5);
}

Test(rpc_session, refuses_a_call_of_too_many_items)
{
	struct call    head = {.message = MSG_PASS_CREATE};
	msgpack_packer packer;
	cr_assert(callee_gets(FRAME_HELLO));
	callee_welcomes(EPOCH, SESSION_CREDIT_COMMANDS, SESSION_CREDIT_BYTES);
	cr_assert(pump_until_state(RPC_UP));
	head.deadline = mono_after(now(), (dur_us){US_PER_SEC});
	cr_assert_eq(rpc_begin(rpc, &head, (void *)5, &packer), OK);
	msgpack_pack_array(&packer, FRAME_NODES_MAX);
	for (int i = 0; i < FRAME_NODES_MAX; i++)
		msgpack_pack_nil(&packer);
	rpc_commit(rpc);
	flush();
	cr_assert(pump_until_ends(1));
	expect_end(0, 5, ERR_PAYLOAD_TOO_LARGE);
	cr_expect_eq(channel_recv(callee, &packet), ERR_WOULD_BLOCK);
}
