/* Turns of a shard's engine. */
#include "tests/unit/engine_desk.h"
#include "tests/unit/patience.h"

#include "actors/rt/token.h"
#include "actors/shard/engine/readers_inside.h"
#include "schemas/api/delivery.h"
#include "store/wallet_due.h"

#include <stdio.h>
#include <unistd.h>

static uint64_t fetch_asked;
static bool     is_deaf[WHO_COUNT];

enum err __real_channel_send(struct channel *channel, const struct peer *to, struct span bytes);
enum err __wrap_channel_send(struct channel *channel, const struct peer *to, struct span bytes);

enum err __wrap_channel_send(struct channel *channel, const struct peer *to, struct span bytes)
{
	for (enum who who = 0; who < WHO_COUNT; who++)
		if (is_deaf[who] && to->id[0] == peers[who].id[0]) return ERR_WOULD_BLOCK;
	return __real_channel_send(channel, to, bytes);
}

static enum disk_level room = DISK_FOR_ALL;

enum disk_level __wrap_store_room(const struct store *of);

enum disk_level __wrap_store_room(const struct store *of)
{
	(void)of;
	return room;
}

/* Requests and answers -------------------------------------------------------------------------------------- */

/* Passes with one logo that no pass has yet. */
static void ask_for_passes(unsigned count)
{
	char template[TEMPLATE_ID_TEXT], id[16];
	template_id_text(account, 1, template);
	for (unsigned i = 0; i < count; i++) {
		msgpack_packer packer = call(COMMAND_LINE, MSG_PASS_CREATE, ARGS_PASS_CREATE);
		snprintf(id, sizeof id, "pass-%u", i);
		pack_text(&packer, id);
		pack_text(&packer, template);
		msgpack_pack_nil(&packer);
		msgpack_pack_nil(&packer);
		pack_json(&packer, "{\"logo\":\"https://example.com/l.png\"}");
		msgpack_pack_nil(&packer);
	}
	send_calls(COMMAND_LINE);
}

static void answer(struct frame_out *out, uint64_t id, enum err err)
{
	frame_reply(out, id, err, 0, span_of(NULL, 0));
	msgpack_packer packer = frame_out_packer(out);
	msgpack_pack_nil(&packer);
}

static void send_answers(struct frame_out *out)
{
	if (out->count) post_in(&peers[TIMER], frame_seal_replies(out, engine->facts.epoch));
	buffer_free(&out->bytes);
}

/* Records fetches. Returns the epoch of the last replies to `who`. */
static uint64_t read_packets(enum who who)
{
	struct peer  to;
	struct span  bytes;
	struct frame frame;
	struct call  got;
	uint64_t     epoch = UINT64_MAX;
	while (post_out(&to, &bytes)) {
		msgpack_zone *zone = msgpack_zone_new(1024);
		must(zone && frame_open(bytes, zone, &frame) == OK);
		if (frame.kind == FRAME_REPLIES && to.id[0] == peers[who].id[0]) epoch = frame.epoch;
		for (uint32_t i = 0; frame.kind == FRAME_CALLS && i < frame.count; i++) {
			must(call_open(&frame.items[i], &got) == OK);
			if (got.message == MSG_FETCH) fetch_asked = got.id;
		}
		msgpack_zone_free(zone);
	}
	return epoch;
}

TestSuite(engine_turns, .init = begin, .fini = end);

Test(engine_turns, continue_after_a_full_record_without_new_messages)
{
	enum { PASSES = BATCH_COMMANDS_MIN + BATCH_COMMANDS_MIN / 4 };
	struct frame_out out = {.count = 0};
	ask_for_passes(PASSES);
	turn();
	(void)read_packets(TIMER);
	cr_assert_eq(engine->issuance.pass_count, PASSES);
	cr_assert_neq(fetch_asked, 0);
	answer(&out, fetch_asked, ERR_IMAGE_REFUSED);
	send_answers(&out);
	turn();
	cr_expect_eq(engine->issuance.pass_count, 0, "%u are left", engine->issuance.pass_count);
}

Test(engine_turns, restart_the_timers_session_if_a_request_fails)
{
	is_deaf[TIMER] = true;
	ask_for_passes(1);
	turn();
	cr_expect_not(engine_issuer_up(engine));
	is_deaf[TIMER] = false;
	(void)read_packets(TIMER);
	(void)call(TIMER, MSG_HEARTBEAT, ARGS_HEARTBEAT);
	send_calls(TIMER);
	turn();
	cr_expect_eq(read_packets(TIMER), 0, "without an epoch: it sends HELLO");
	hello(TIMER);
	turn();
	cr_expect(engine_issuer_up(engine));
}

/* Identity of the timer
 * ----------------------------------------------------------------------------------- */

static bool timer_is(enum who who)
{
	return engine_issuer_up(engine) && engine->timer.id[0] == peers[who].id[0];
}

/* Messages that an earlier process left in the channel may be read after those of its successor. */
Test(engine_turns, ignore_a_timer_that_has_a_successor)
{
	hello_of(NEXT_TIMER, begun + 10);
	hello_of(TIMER, begun);
	hello_of(TIMER, begun + 5);
	turn();
	cr_expect(timer_is(NEXT_TIMER));
	(void)call(TIMER, MSG_HEARTBEAT, ARGS_HEARTBEAT);
	send_calls(TIMER);
	turn();
	cr_expect(timer_is(NEXT_TIMER));
	cr_expect_eq(read_packets(TIMER), 0, "it has no session any more");
	(void)call(NEXT_TIMER, MSG_HEARTBEAT, ARGS_HEARTBEAT);
	send_calls(NEXT_TIMER);
	turn();
	cr_expect_eq(read_packets(NEXT_TIMER), engine->facts.epoch);
}

Test(engine_turns, ignore_a_timer_that_cannot_be_welcomed)
{
	is_deaf[NEXT_TIMER] = true;
	hello_of(NEXT_TIMER, begun + 10);
	turn();
	cr_expect(timer_is(TIMER), "the previous one stays");
	is_deaf[NEXT_TIMER] = false;
	hello_of(NEXT_TIMER, begun + 10);
	turn();
	cr_expect(timer_is(NEXT_TIMER));
}

Test(engine_turns, keep_everything_after_a_repeated_hello)
{
	ask_for_passes(1);
	turn();
	(void)read_packets(TIMER);
	cr_assert_neq(fetch_asked, 0);
	fetch_asked = 0;
	hello_of(TIMER, begun);
	turn();
	(void)read_packets(TIMER);
	cr_expect_eq(fetch_asked, 0, "the request was already sent");
	hello(TIMER);
	turn();
	(void)read_packets(TIMER);
	cr_expect_neq(fetch_asked, 0);
}

/* Whether passes can be created --------------------------------------------------------------------------- */

enum { STEP_US = 200000 }; /* shorter than the time after which the engine counts itself as stopped */

static void pass_time(int64_t us)
{
	for (mono_us end = mono_after(now, (dur_us){us}); now.v < end.v; turn())
		now.v = end.v - now.v < STEP_US ? end.v : now.v + STEP_US;
}

static enum err pause_issuer(bool paused)
{
	msgpack_packer packer = call(COMMAND_LINE, MSG_ISSUER_SET, ARGS_ISSUER_SET);
	if (paused)
		msgpack_pack_true(&packer);
	else
		msgpack_pack_false(&packer);
	send_calls(COMMAND_LINE);
	turn();
	return the_reply(COMMAND_LINE).err;
}

/* The creation is decided in the turn that reads it, without a message to the timer. */
Test(engine_turns, decide_a_creation_once)
{
	struct peer to;
	struct span bytes;
	uint64_t    before = atomic_load(&engine->facts.commands);
	cr_expect_eq(create("a"), OK);
	cr_expect_eq(atomic_load(&engine->facts.commands), before + 1);
	cr_expect_eq(create("a"), ERR_RESOURCE_CONFLICT);
	cr_expect_eq(atomic_load(&engine->facts.commands), before + 2);
	cr_expect_not(post_out(&to, &bytes));
}

Test(engine_turns, create_passes_until_the_issuer_is_silent_for_too_long)
{
	(void)call(TIMER, MSG_HEARTBEAT, ARGS_HEARTBEAT);
	send_calls(TIMER);
	turn();
	pass_time(HEARTBEAT_LOST_MS * US_PER_MS - 1);
	cr_expect_eq(create("a"), OK);
	uint64_t seq = store_decided_seq(store);
	pass_time(1);
	cr_expect_eq(create("a"), ERR_RESOURCE_CONFLICT, "the request's own fault is reported first");
	cr_expect_eq(create("b"), ERR_PASS_PROVIDER_UNAVAILABLE);
	cr_expect_eq(store_decided_seq(store), seq, "nothing is stored");
	(void)call(TIMER, MSG_HEARTBEAT, ARGS_HEARTBEAT);
	send_calls(TIMER);
	cr_expect_eq(create("b"), OK, "its heartbeat is read in the same turn");
}

Test(engine_turns, create_no_passes_while_the_issuer_is_paused)
{
	cr_assert_eq(pause_issuer(true), OK);
	uint64_t seq = store_decided_seq(store);
	cr_expect_eq(create("a"), ERR_PASS_PROVIDER_UNAVAILABLE);
	cr_expect_eq(store_decided_seq(store), seq, "nothing is stored");
	cr_assert_eq(pause_issuer(false), OK);
	cr_expect_eq(create("a"), OK);
}

/* Room for answers ---------------------------------------------------------------------------------------- */

static enum err set_account(void)
{
	msgpack_packer packer = call(COMMAND_LINE, MSG_ACCOUNT_SET, ARGS_ACCOUNT_SET);
	for (unsigned i = 0; i < ARGS_ACCOUNT_SET; i++)
		if (i == ARG_ACCOUNT_SET_rewards)
			msgpack_pack_true(&packer);
		else
			msgpack_pack_nil(&packer);
	send_calls(COMMAND_LINE);
	turn();
	return the_reply(COMMAND_LINE).err;
}

Test(engine_turns, execute_nothing_without_room_for_the_answer)
{
	struct session *session = session_find(&engine->sessions, &peers[COMMAND_LINE]);
	uint64_t        seq = store_decided_seq(store);
	window_add(session->window, SESSION_ANSWER_BYTES);
	cr_expect_eq(set_account(), ERR_OVERLOADED);
	cr_expect_eq(store_decided_seq(store), seq);
	window_sent(session->window, SESSION_ANSWER_BYTES);
	cr_assert(window_received(session->window, session->window->sent));
	cr_expect_eq(set_account(), OK);
	cr_expect_gt(store_decided_seq(store), seq);
}

static void ask_for_list(struct account_id of)
{
	whom = of;
	msgpack_packer packer = call(COMMAND_LINE, MSG_DELIVERY_LIST, ARGS_DELIVERY_LIST);
	msgpack_pack_nil(&packer);
	send_calls(COMMAND_LINE);
	turn();
}

Test(engine_turns, refuse_a_list_while_nothing_is_received)
{
	struct session *session = session_find(&engine->sessions, &peers[COMMAND_LINE]);
	window_add_list(session->window, SESSION_LIST_BYTES + 1);
	session->window->full_since = now.v - LISTS_STALL_MS * US_PER_MS;
	ask_for_list(account);
	cr_expect_eq(the_reply(COMMAND_LINE).err, ERR_OVERLOADED);
}

/* Lists and commits --------------------------------------------------------------------------------------- */

static bool is_answered(void)
{
	for (int i = 0; i < patience_ms(5000); i++) {
		turn();
		if (the_reply(COMMAND_LINE).id == asked) return true;
		usleep(1000);
	}
	return false;
}

Test(engine_turns, commit_for_a_list_only_its_accounts_rows)
{
	cr_assert_not(store_is_committed(store), "the account is new");
	ask_for_list(account);
	cr_expect(store_is_committed(store), "the list is to show it");
	cr_expect(is_answered());
	make_account(other);
	send_calls(COMMAND_LINE);
	turn();
	cr_assert_eq(the_reply(COMMAND_LINE).err, OK);
	ask_for_list(account);
	cr_expect(is_answered());
	cr_expect_not(store_is_committed(store), "the other account's rows were not waited for");
	ask_for_list(other);
	cr_expect(store_is_committed(store));
	cr_expect(is_answered());
}

Test(engine_turns, charge_an_account_for_its_large_answers)
{
	struct result small = {.has_account = true, .account = account}, large = small,
	              nobodys = {.has_account = false};
	small.frame.size = 1000;
	large.frame.size = nobodys.frame.size = 1000000;
	turns_heard(&engine->turns, other, now);
	turns_heard(&engine->turns, account, now);
	engine_charge_result(engine, &small);
	engine_charge_result(engine, &nobodys);
	cr_expect_not(turns_defer(&engine->turns, account, now));
	engine_charge_result(engine, &large);
	cr_expect(turns_defer(&engine->turns, account, now));
	ask_for_list(account);
	cr_expect_eq(engine->turns.count, 1, "its lists wait for their turn too");
}

/* A reader runs at a low priority: when it holds a lock it may not run for a long time. */
Test(engine_turns, wait_for_no_lock_of_a_reader, .timeout = 60)
{
	pthread_mutex_lock(&engine->readers->mutex);
	ask_for_list(account);
	ask_for_list(account);
	cr_expect_eq(atomic_load(&engine->readers->jobs), 2);
	pthread_mutex_unlock(&engine->readers->mutex);
	cr_expect(is_answered());
	turn();
	cr_expect_null(engine->readers->newest, "finished jobs are freed");
}

/* What the shard would do without being asked for it takes the last room of commands that are under way. */
Test(engine_turns, do_no_work_of_their_own_on_a_nearly_full_disk)
{
	struct arena      arena = {0};
	struct writes     writes = writes_none(&arena);
	struct wallet_due row = {.account = account, .kind = WALLET_DUE_TOUCH, .number = 9, .due = {1}};
	cr_assert_eq(wallet_due_put(store_view(store, &writes, &arena), &row), OK);
	shop_save_writes(store, &writes, &arena);
	cr_assert_eq(work_on_writes(engine->work, &writes, row.due), OK);
	for (room = DISK_FOR_NOTHING; room > DISK_FOR_ALL; room--) {
		uint64_t decided = store_decided_seq(store);
		now.v += US_PER_SEC;
		turn();
		cr_expect_eq(store_decided_seq(store), decided);
	}
	uint64_t decided = store_decided_seq(store);
	now.v += US_PER_SEC;
	turn();
	cr_expect_gt(store_decided_seq(store), decided);
	arena_free(&arena);
}
