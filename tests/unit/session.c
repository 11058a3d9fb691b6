/* A shard's sessions: when all places are taken, a command's goes before one of a process that stays. */
#include "actors/shard/engine/session.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct sessions sessions;

static struct peer peer_of(unsigned number)
{
	struct peer peer = {.size = sizeof number};
	memcpy(peer.id, &number, sizeof number);
	return peer;
}

static void open_as(unsigned number, enum role role)
{
	struct peer     peer = peer_of(number);
	struct session *session = session_open(&sessions, &peer, (mono_us){number});
	cr_assert(session);
	session->role = role;
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

Test(session, many_commands_do_not_drive_out_who_stays)
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

Test(session, the_longest_idle_one_goes_where_no_command_is_left)
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
	session_heard(&sessions, session_find(&sessions, &peer), (mono_us){9}, waiting);
}

/* Half of what callers wait for, so that the other half is under way meanwhile. */
Test(session, a_record_is_for_half_of_those_who_wait)
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
	cr_expect_eq(sessions_share(&sessions), BATCH_COMMANDS_MIN, "begun anew");
	hear(0, 200);
	cr_expect_eq(sessions_share(&sessions), 130);
	struct peer peer = peer_of(1);
	session_close(&sessions, session_find(&sessions, &peer));
	cr_expect_eq(sessions_share(&sessions), 100);
}

/* One frame says little of how many there are: half of them may just be on their way. */
Test(session, those_who_waited_are_remembered_a_while)
{
	open_as(0, ROLE_HTTP);
	hear(0, 200);
	hear(0, 100);
	cr_expect_gt(sessions_share(&sessions), 90);
	for (unsigned i = 0; i < 1000; i++)
		hear(0, 1);
	cr_expect_eq(sessions_share(&sessions), BATCH_COMMANDS_MIN);
}
