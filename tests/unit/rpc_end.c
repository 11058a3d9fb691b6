/* The results of unanswered calls: the session ended, or their deadline passed. */
#include "tests/unit/callee.h"

TestSuite(rpc_end, .init = begin_up, .fini = end);

/* ---- the end of a session ---- */

Test(rpc_end, a_lost_connection_reports_each_calls_result)
{
	(void)call(MSG_PASS_LOYALTY, 1);
	(void)call(MSG_PASS_GET, 2);
	(void)call(MSG_PASS_LIST, 3);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	(void)call(MSG_PASS_LOYALTY, 4); /* not flushed */
	channel_close(&callee);
	cr_assert(pump_until_ends(4));
	expect_end(0, 1, ERR_OUTCOME_UNKNOWN);
	expect_end(1, 2, ERR_SHARD_UNAVAILABLE);
	expect_end(2, 3, ERR_SHARD_UNAVAILABLE);
	expect_end(3, 4, ERR_SHARD_UNAVAILABLE);
	cr_expect_eq(rpc_state(rpc), RPC_DOWN);
	cr_expect_eq(rpc_outstanding(rpc), 0);

	/* The peer comes back as another process. Nothing queued earlier is sent to it. */
	cr_assert_eq(channel_bind(&callee, endpoint), OK);
	cr_assert(callee_gets(FRAME_HELLO));
	callee_welcomes(EPOCH + 1, 100, 1 << 20);
	cr_assert(pump_until_state(RPC_UP));
	cr_expect_eq(rpc_epoch(rpc), EPOCH + 1);
	flush();
	pump();
	usleep(20000);
	cr_expect_eq(channel_recv(callee, &packet), ERR_WOULD_BLOCK);
}

Test(rpc_end, answers_received_before_the_loss_are_read)
{
	uint64_t first = call(MSG_PASS_LOYALTY, 1);
	(void)call(MSG_PASS_LOYALTY, 2);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	callee_replies(EPOCH, first, OK, 0);
	cr_assert(within_time(rpc_waiting(rpc))); /* closing drops unsent messages */
	channel_close(&callee);
	usleep(50000); /* usually the answer and the loss are both present at the check */
	cr_assert(pump_until_ends(2));
	expect_end(0, 1, OK);
	expect_end(1, 2, ERR_OUTCOME_UNKNOWN);
}

Test(rpc_end, another_epoch_ends_the_session_after_its_answers)
{
	later.v += US_PER_SEC; /* the first HELLO was sent long ago */
	uint64_t refused = call(MSG_PASS_LOYALTY, 1);
	uint64_t answered = call(MSG_PASS_LOYALTY, 2);
	(void)call(MSG_PASS_LOYALTY, 3);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	callee_replies(EPOCH + 1, refused, ERR_SHARD_UNAVAILABLE, 0);
	callee_replies(EPOCH, answered, OK, 0);
	usleep(50000); /* both are present */
	cr_assert(pump_until_ends(3));
	expect_end(0, 1, ERR_SHARD_UNAVAILABLE);
	expect_end(1, 2, OK);
	expect_end(2, 3, ERR_OUTCOME_UNKNOWN);
	cr_assert(callee_gets(FRAME_HELLO));
	callee_welcomes(EPOCH + 1, 100, 1 << 20);
	cr_assert(pump_until_state(RPC_UP));
	cr_expect_eq(rpc_epoch(rpc), EPOCH + 1);
}

Test(rpc_end, a_welcome_of_another_epoch_ends_the_session)
{
	(void)call(MSG_PASS_GET, 1);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	callee_welcomes(EPOCH + 1, 100, 1 << 20);
	cr_assert(pump_until_ends(1));
	expect_end(0, 1, ERR_SHARD_UNAVAILABLE);
	cr_expect_neq(rpc_state(rpc), RPC_UP);
}

Test(rpc_end, a_frame_that_cannot_be_read_ends_the_session)
{
	static const struct {
		const char *bytes;
		size_t      size;
	} rows[] = {{"\xc1", 1},
	            {"", 0},
	            {"\x94\x04\x29\x00\x91\x01", 6},      /* REPLIES with an invalid item */
	            {"\x96\x01\x02\x01\x00\x01\x01", 7},  /* HELLO */
	            {"\x96\x03\x29\x00\x01\x01\x90", 7}}; /* CALLS to a peer that serves none */
	for (int i = 0; i < (int)(sizeof(rows) / sizeof(rows[0])); i++) {
		later.v += US_PER_SEC;
		(void)call(MSG_PASS_LOYALTY, i);
		flush();
		cr_assert(callee_gets(FRAME_CALLS));
		callee_sends(span_of(rows[i].bytes, rows[i].size));
		cr_assert(pump_until_ends(i + 1), "row %d", i);
		expect_end(i, i, ERR_OUTCOME_UNKNOWN);
		cr_assert(callee_gets(FRAME_HELLO));
		callee_welcomes(EPOCH, 100, 1 << 20);
		cr_assert(pump_until_state(RPC_UP));
	}
}

/* ---- time ---- */

Test(rpc_end, a_call_ends_a_grace_after_its_deadline)
{
	uint64_t late = call(MSG_PASS_LOYALTY, 1);
	(void)call(MSG_PASS_GET, 2);
	flush();
	cr_assert(callee_gets(FRAME_CALLS));
	later.v += CALL_DEADLINE_GRACE_MS * US_PER_MS; /* a call has one second */
	pump();
	cr_expect_eq(end_count, 0);
	later.v += US_PER_SEC + 100 * US_PER_MS;
	pump();
	cr_assert_eq(end_count, 2);
	expect_end(0, 1, ERR_OUTCOME_UNKNOWN);
	expect_end(1, 2, ERR_SHARD_UNAVAILABLE);
	callee_replies(EPOCH, late, OK, 0);
	usleep(20000);
	pump();
	cr_expect_eq(end_count, 2);
	cr_expect_eq(rpc_state(rpc), RPC_UP);
}

Test(rpc_end, a_call_that_was_never_flushed_was_not_executed)
{
	(void)call(MSG_PASS_LOYALTY, 1);
	later.v += 3 * US_PER_SEC;
	pump();
	cr_assert_eq(end_count, 1);
	expect_end(0, 1, ERR_SHARD_UNAVAILABLE);
}
