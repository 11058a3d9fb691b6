/* A shard's sessions: when all slots are taken, a command's session is evicted before one of a permanent
 * process; a process's successor replaces its session; and a peer that sends no receipts is asked for one. */
#include "actors/shard/engine/session.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { EPOCH = 3 };

static struct sessions sessions;
static unsigned        sent; /* frames */
static bool            peer_is_gone;

enum err __wrap_channel_send(struct channel *channel, const struct peer *to, struct span bytes);

enum err __wrap_channel_send(struct channel *channel, const struct peer *to, struct span bytes)
{
	cr_assert(!channel && to && bytes.size);
	if (peer_is_gone) return ERR_PEER_GONE;
	sent++;
	return OK;
}

static struct peer peer_of(unsigned number)
{
	struct peer peer = {.size = sizeof number};
	memcpy(peer.id, &number, sizeof number);
	return peer;
}

static void open_as(unsigned number, enum role role)
{
	struct peer  peer = peer_of(number);
	struct frame hello = {
	    .role = role, .index = number, .begun = {number}, .credit_bytes = SESSION_ANSWER_BYTES};
	struct session *session = session_open(&sessions, &peer, &hello, (mono_us){number});
	cr_assert(session);
}

static bool is_open(unsigned number)
{
	struct peer peer = peer_of(number);
	return session_find(&sessions, &peer);
}

static void end(void)
{
	sessions_close(&sessions);
}

TestSuite(session, .fini = end);

Test(session, many_commands_do_not_evict_permanent_sessions)
{
	open_as(0, ROLE_HTTP);
	open_as(1, ROLE_TIMER);
	for (unsigned number = 2; number < SESSIONS_MAX + 100; number++)
		open_as(number, ROLE_CLI);
	cr_expect(is_open(0));
	cr_expect(is_open(1));
	cr_expect_not(is_open(2));
	cr_expect(is_open(SESSIONS_MAX + 99));
	cr_expect_eq(sessions.count, SESSIONS_MAX);
}

Test(session, the_longest_idle_is_evicted_where_no_command_is_left)
{
	for (unsigned number = 0; number <= SESSIONS_MAX; number++)
		open_as(number, ROLE_HTTP);
	cr_expect_not(is_open(0));
	cr_expect(is_open(1));
	cr_expect(is_open(SESSIONS_MAX));
}

static void hear(unsigned number, uint32_t waiting)
{
	struct peer peer = peer_of(number);
	session_waits(&sessions, session_find(&sessions, &peer), waiting);
}

/* Half of the waiting calls, so that the other half can arrive meanwhile. */
Test(session, a_record_has_half_of_the_waiting_calls)
{
	cr_expect_eq(sessions_share(&sessions), BATCH_COMMANDS_MIN);
	open_as(0, ROLE_HTTP);
	open_as(1, ROLE_HTTP);
	hear(0, 1);
	cr_expect_eq(sessions_share(&sessions), BATCH_COMMANDS_MIN);
	hear(0, 100);
	cr_expect_eq(sessions_share(&sessions), 50);
	hear(1, 60);
	cr_expect_eq(sessions_share(&sessions), 80);
	hear(0, UINT32_MAX);
	cr_expect_eq(sessions_share(&sessions), BATCH_COMMANDS_MAX);
	open_as(0, ROLE_HTTP);
	cr_expect_eq(sessions_share(&sessions), BATCH_COMMANDS_MIN, "it restarted");
	hear(0, 200);
	cr_expect_eq(sessions_share(&sessions), 130);
	struct peer peer = peer_of(1);
	session_close(&sessions, session_find(&sessions, &peer));
	cr_expect_eq(sessions_share(&sessions), 100);
}

/* One frame is no evidence of how many callers wait: half of them may just be on their way. */
Test(session, the_number_of_waiting_calls_is_remembered)
{
	open_as(0, ROLE_HTTP);
	hear(0, 200);
	hear(0, 100);
	cr_expect_gt(sessions_share(&sessions), 90);
	for (unsigned i = 0; i < 1000; i++)
		hear(0, 1);
	cr_expect_eq(sessions_share(&sessions), BATCH_COMMANDS_MIN);
}

/* Successors ---------------------------------------------------------------------------------------------- */

static struct frame hello_of(enum role role, uint32_t index, int64_t begun)
{
	return (struct frame){
	    .role = role, .index = index, .begun = {begun}, .credit_bytes = SESSION_ANSWER_BYTES};
}

static struct session *open_hello(unsigned number, const struct frame *hello)
{
	struct peer     peer = peer_of(number);
	struct session *session = session_open(&sessions, &peer, hello, (mono_us){0});
	cr_assert(session);
	return session;
}

Test(session, a_successor_ends_the_sessions_before_it)
{
	struct frame first = hello_of(ROLE_TIMER, 0, 10), second = hello_of(ROLE_TIMER, 0, 20);
	struct frame other = hello_of(ROLE_TIMER, 1, 5), http = hello_of(ROLE_HTTP, 0, 6);
	(void)open_hello(1, &first);
	(void)open_hello(2, &other);
	(void)open_hello(3, &http);
	cr_expect_not(sessions_outdate(&sessions, &second));
	sessions_succeed(&sessions, open_hello(4, &second));
	cr_expect_not(is_open(1));
	cr_expect(is_open(2) && is_open(3) && is_open(4));
	cr_expect(sessions_outdate(&sessions, &first), "sent by a process that has ended");
	cr_expect_not(sessions_outdate(&sessions, &second), "its own messages again");
	cr_expect_not(sessions_outdate(&sessions, &other));
}

Test(session, commands_have_no_successors)
{
	struct frame first = hello_of(ROLE_CLI, 7, 10), second = hello_of(ROLE_CLI, 7, 20);
	(void)open_hello(1, &first);
	sessions_succeed(&sessions, open_hello(2, &second));
	cr_expect(is_open(1) && is_open(2));
	cr_expect_not(sessions_outdate(&sessions, &first));
}

Test(session, restarted_has_no_state_of_the_previous_one)
{
	struct frame    first = hello_of(ROLE_HTTP, 0, 10), second = hello_of(ROLE_HTTP, 0, 20);
	struct session *session = open_hello(1, &first);
	frame_reply(session_outbox(&sessions, session, OUTBOX_LATER, EPOCH), 5, OK, 0, span_of(NULL, 0));
	window_add(session->window, 100);
	session = open_hello(1, &second);
	cr_expect_eq(sessions.count, 1);
	cr_expect_eq(session->out[OUTBOX_LATER].count, 0);
	cr_expect_eq(session->begun.v, 20);
	cr_expect_eq(sessions.windows.held, 0);
}

/* Receipts ------------------------------------------------------------------------------------------------ */

static void ask_at(int64_t ms)
{
	sessions_ask(&sessions, NULL, EPOCH, (mono_us){ms * US_PER_MS});
}

static struct session *owing(enum role role)
{
	struct frame    hello = hello_of(role, 0, 10);
	struct session *session = open_hello(1, &hello);
	struct buffer   frame = {0};
	(void)frame_begin_replies(&session->out[OUTBOX_NEXT]);
	buffer_append(&frame, session->out[OUTBOX_NEXT].bytes.at, session->out[OUTBOX_NEXT].bytes.size);
	window_add(session->window, frame.size);
	cr_assert_eq(session_send(session, NULL, &frame), OK);
	sent = 0;
	buffer_free(&frame);
	return session;
}

Test(session, a_missing_receipt_is_requested)
{
	struct session *session = owing(ROLE_HTTP);
	ask_at(RECEIPT_ASK_MS - 1);
	cr_expect_eq(sent, 0);
	ask_at(2 * RECEIPT_ASK_MS);
	cr_expect_eq(sent, 1);
	ask_at(2 * RECEIPT_ASK_MS + RECEIPT_ASK_MS / 2);
	cr_expect_eq(sent, 1);
	ask_at(3 * RECEIPT_ASK_MS);
	cr_expect_eq(sent, 2);
	struct frame frame = {.kind = FRAME_CALLS, .taken = session->window->sent};
	cr_expect(session_heard(session, (mono_us){3 * RECEIPT_ASK_MS * US_PER_MS}, &frame, 33));
	cr_expect_eq(session->window->held, 0);
	cr_expect_eq(session->taken, 33);
	ask_at(10 * RECEIPT_ASK_MS);
	cr_expect_eq(sent, 2, "nothing is owed");
}

Test(session, a_session_without_a_receipt_ends_with_its_peer)
{
	(void)owing(ROLE_CLI);
	cr_expect_gt(sessions.command_windows.held, 0);
	cr_expect_eq(sessions.windows.held, 0);
	peer_is_gone = true;
	ask_at(2 * RECEIPT_ASK_MS);
	cr_expect_eq(sessions.count, 0);
	cr_expect_eq(sessions.command_windows.held, 0);
}

Test(session, a_receipt_for_more_than_was_sent_is_refused)
{
	struct session *session = owing(ROLE_HTTP);
	struct frame    frame = {.kind = FRAME_CALLS, .taken = session->window->sent + 1};
	cr_expect_not(session_heard(session, (mono_us){0}, &frame, 33));
}

Test(session, a_tiny_answer_always_has_room)
{
	struct session *session = owing(ROLE_HTTP);
	window_add(session->window, SESSION_ANSWER_BYTES);
	cr_expect_not(session_fits(session, WINDOW_WRITE, ANSWER_RESERVED_BYTES));
	cr_expect_not(session_fits(session, WINDOW_READ, ANSWER_TINY_BYTES + 1));
	cr_expect(session_fits(session, WINDOW_READ, ANSWER_TINY_BYTES));
}
