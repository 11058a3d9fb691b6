/* A shard's sessions: when all places are taken, a command's goes before one of a process that stays. */
#include "actors/shard/session.h"

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
