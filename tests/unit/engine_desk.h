/* A shard's engine under test, with queues in place of the network and a fixed time, and short functions for its requests.
 * Criterion runs each test in its own process, so these can be static. */
#pragma once
#include "tests/fuzz/post.h"
#include "tests/unit/support.h"

#include "actors/shard/engine/engine.h"
#include "schemas/api/account.h"
#include "schemas/api/pass.h"
#include "schemas/api/system.h"
#include "schemas/api/template.h"
#include "schemas/json.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum who { COMMAND_LINE, TIMER, NEXT_TIMER, WHO_COUNT };
enum {
	BEGIN_US = 1000000000,
	QUICK_US = 1000000000,
	DEADLINE_US = 60000000,
	TURNS_MAX = 1000,
	SEGMENT_LARGE_BYTES = 8 << 20
};

static const struct peer       peers[WHO_COUNT] = {{1, "c"}, {1, "t"}, {1, "n"}};
static const enum role         roles[WHO_COUNT] = {ROLE_CLI, ROLE_TIMER, ROLE_TIMER};
static const struct account_id account = {{1, 2, 3}}, other = {{4, 5, 6}};
static struct account_id       whom; /* of the next commands of the command line */
static mono_us                 now;
static struct test_dir         test_dir;
static struct store           *store;
static struct engine          *engine;
static struct frame_out        calls[WHO_COUNT];
static uint64_t                asked;
static int64_t                 begun;

/* Requests
 * ------------------------------------------------------------------------------------------------ */

static inline void hello_of(enum who who, int64_t session_begun)
{
	struct buffer      bytes = {0};
	const struct frame frame = {
	    .role = roles[who], .begun = {session_begun}, .credit_bytes = SESSION_ANSWER_BYTES};
	frame_hello(&bytes, &frame);
	post_in(&peers[who], buffer_span(&bytes));
	buffer_free(&bytes);
}

static inline void hello(enum who who)
{
	hello_of(who, ++begun);
}

static inline msgpack_packer call(enum who who, enum message message, uint32_t arguments)
{
	struct call head = {.id = ++asked,
	                    .message = message,
	                    .deadline = {now.v + DEADLINE_US},
	                    .has_account = who == COMMAND_LINE,
	                    .account = whom};
	frame_call(&calls[who], &head);
	msgpack_packer packer = frame_out_packer(&calls[who]);
	msgpack_pack_array(&packer, arguments);
	return packer;
}

static inline void send_calls(enum who who)
{
	post_in(&peers[who], frame_seal_calls(&calls[who], engine->facts.epoch, 1, 1));
	frame_clear(&calls[who]);
}

static inline void pack_json(msgpack_packer *packer, const char *text)
{
	static struct arena  arena;
	static struct buffer scratch;
	struct json         *tree;
	must(json_parse(span_str(text), &arena, &tree) == OK);
	json_pack_object(tree, packer, &scratch);
	arena_reset(&arena);
}

/* Turns and answers --------------------------------------------------------------------------------------- */

/* Runs turns as long as the engine reports more work; nothing else wakes it. */
static inline void turn(void)
{
	bool     more = true;
	unsigned turns = 0;
	post_set_time(now);
	for (; more && turns < TURNS_MAX; turns++)
		cr_assert_eq(engine_turn(engine, now, (wall_us){now.v}, &more), OK);
	cr_assert_lt(turns, TURNS_MAX);
}

static inline void make_account(struct account_id id)
{
	static const uint8_t key_hash[32] = {7};
	whom = id;
	msgpack_packer packer = call(COMMAND_LINE, MSG_ACCOUNT_CREATE, ARGS_ACCOUNT_CREATE);
	pack_text(&packer, "Shop");
	msgpack_pack_nil(&packer);
	msgpack_pack_nil(&packer);
	msgpack_pack_bin(&packer, sizeof key_hash);
	msgpack_pack_bin_body(&packer, key_hash, sizeof key_hash);
}

/* The first of the last replies to `who`. */
static inline struct reply the_reply(enum who who)
{
	static msgpack_zone *zone;
	struct reply         reply = {.id = 0};
	struct peer          to;
	struct span          bytes;
	struct frame         frame;
	if (zone) msgpack_zone_free(zone);
	zone = msgpack_zone_new(1024);
	while (post_out(&to, &bytes)) {
		must(frame_open(bytes, zone, &frame) == OK);
		if (frame.kind == FRAME_REPLIES && frame.count && to.id[0] == peers[who].id[0])
			must(reply_open(&frame.items[0], &reply) == OK);
	}
	return reply;
}

/* Creates a pass of the account's template; returns what is answered. */
static inline enum err create(const char *id)
{
	msgpack_packer packer = call(COMMAND_LINE, MSG_PASS_CREATE, ARGS_PASS_CREATE);
	pack_text(&packer, id);
	for (unsigned i = 1; i < ARGS_PASS_CREATE; i++)
		msgpack_pack_nil(&packer);
	send_calls(COMMAND_LINE);
	turn();
	return the_reply(COMMAND_LINE).err;
}

/* An account with a template. */
static inline void begin(void)
{
	struct store_report report;
	now.v = BEGIN_US;
	test_dir_make(&test_dir);
	struct shard_dir at = shop_place(&test_dir, true);
	at.quick_sync_us = QUICK_US;
	at.segment_bytes = SEGMENT_LARGE_BYTES;
	must(store_open(&at, (wall_us){1}, &store, &report) == OK);
	must((engine = calloc(1, sizeof *engine)));
	engine->facts.shards = 1;
	engine->facts.tokens.count = 1;
	engine->facts.public_url = "https://example";
	engine->facts.wallet_bulk_rate = 500;
	engine->facts.epoch = report.epoch;
	must(engine_open(engine, store, NULL) == OK);
	hello(COMMAND_LINE);
	hello(TIMER);
	turn();
	make_account(account);
	msgpack_packer packer = call(COMMAND_LINE, MSG_TEMPLATE_PUT, ARGS_TEMPLATE_PUT);
	pack_json(&packer, "{\"name\":\"Card\",\"loyalty_type\":\"none\",\"fields\":[{\"key\":\"holder\","
	                   "\"type\":\"text\"}]}");
	send_calls(COMMAND_LINE);
	turn();
	(void)the_reply(COMMAND_LINE);
}

static inline void end(void)
{
	engine_close(engine);
	free(engine);
	store_close(&store);
	post_reset();
	test_dir_remove(&test_dir);
	for (enum who who = 0; who < WHO_COUNT; who++)
		buffer_free(&calls[who].bytes);
}
