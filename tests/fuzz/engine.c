/* A shard's engine with random commands of every message from a frontend, a command line, the timer and a
 * hostile peer, and with restarts: clean ones, and ones like after a kill. Properties: every call gets one
 * answer; a pass exists if and only if it was created and neither deleted nor erased; its balance is the sum of the accepted
 * deltas; a restart changes no answer; the delivery queue in memory equals one built from the rows; and the
 * audit finds no fault. */
#include "tests/fuzz/asks.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/post.h"
#include "tests/unit/support.h"

#include "actors/shard/engine/engine.h"
#include "schemas/json.h"
#include "store/audit.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS_MAX = 120, ASKS_MAX = 4096, RESTARTS_MAX = 3, TURNS_MAX = 3000, ANSWERS_KEPT = 64 };
enum who { FRONTEND, COMMAND_LINE, TIMER, STRANGER, WHO_COUNT };

static const struct peer peers[WHO_COUNT] = {{1, "f"}, {1, "c"}, {1, "t"}, {1, "s"}};
static const enum role   roles[WHO_COUNT] = {ROLE_HTTP, ROLE_CLI, ROLE_TIMER, ROLE_CLI};
static struct test_dir   test_dir;
static struct store     *store;
static struct engine    *engine;
static mono_us           now;
static wall_us           service_now;
static struct frame_out  filling[WHO_COUNT];
static struct ask        rpcs[ASKS_MAX]; /* by id */
static bool              answered[ASKS_MAX], begun[ASKS_MAX];
static unsigned          asked, waiting;
static bool              timer_is_deaf;
static bool              timer_is_mute; /* it answers nothing */
static struct buffer     heard;         /* while it is recorded: every answer, in order */
static bool              keeping;
static struct arena      arena;
static struct pass_model {
	bool    is_live;
	bool    is_unsure; /* an erasure that named a bound may have deleted it */
	int64_t balance;
} model[ASK_ACCOUNTS][ASK_PASSES];

/* The process --------------------------------------------------------------------------------------------- */

static void hello(enum who who)
{
	struct buffer      bytes = {0};
	const struct frame frame = {.role = roles[who], .credit_bytes = SESSION_ANSWER_BYTES};
	frame_hello(&bytes, &frame);
	post_in(&peers[who], buffer_span(&bytes));
	buffer_free(&bytes);
}

enum { ROUND_BYTES = 16 << 10 }; /* rounds of late tables are frequent, and have several slices */

static void start(void)
{
	struct store_report report;
	struct shard_dir    at = shop_place(&test_dir, true);
	at.late_round_bytes = ROUND_BYTES;
	at.late_slice_rows = 1;
	at.memory_blocks = 1;                 /* of one account: they go and come back all the time */
	at.late_rows_bytes = ROUND_BYTES / 8; /* a few rows fill it */
	must(store_open(&at, (wall_us){1}, &store, &report) == OK);
	must((engine = calloc(1, sizeof *engine)));
	engine->facts.shards = 1;
	engine->facts.tokens.count = 1;
	engine->facts.public_url = "https://example";
	engine->facts.epoch = report.epoch;
	engine->facts.test_clock = true;
	must(engine_open(engine, store, NULL) == OK);
	for (enum who who = 0; who < WHO_COUNT; who++)
		hello(who);
}

static void stop(void)
{
	engine_close(engine);
	free(engine);
	store_close(&store);
}

/* Answers ------------------------------------------------------------------------------------------------- */

static int64_t balance_of(const struct reply *reply)
{
	struct json *pass;
	int64_t      balance = 0;
	must(reply->payload->type == MSGPACK_OBJECT_BIN);
	must(json_parse(arg_span(reply->payload), &arena, &pass) == OK && pass->kind == JSON_OBJECT);
	const struct json *member = json_member(pass, "balance");
	if (member) must(json_integer(member, &balance));
	arena_reset(&arena);
	return balance;
}

/* An answer that shows whether the pass exists must agree with the model. */
static void check_presence(const struct ask *ask, struct pass_model *pass, enum err err)
{
	bool is_missing = err == ERR_RESOURCE_NOT_FOUND;
	if (ask->include_deleted || (err && !is_missing)) return;
	if (pass->is_unsure) pass->is_live = !is_missing;
	pass->is_unsure = false;
	must(pass->is_live == !is_missing);
}

/* The live pass goes first. */
static void note_erased(const struct ask *ask, struct pass_model *pass, enum err err)
{
	if (ask->has_bound) {
		pass->is_unsure |= pass->is_live && !err;
		return;
	}
	if (err == ERR_RESOURCE_NOT_FOUND) check_presence(ask, pass, err);
	if (!err) pass->is_live = pass->is_unsure = false;
}

static void note_answer(const struct ask *ask, const struct reply *reply)
{
	if (!reply->err) ask_note_ids(reply->payload);
	if (ask->message == MSG_DELIVERY_LEASE) check_leases(reply);
	if (ask->message == MSG_DELIVERY_RENDER) check_rendered(reply);
	if (ask->message == MSG_PASS_PAGE) check_page(ask, reply);
	if (ask->message == MSG_PASS_IMAGE && !reply->err) must(ask->token_account == ask->account);
	if (ask->pass < 0) return;
	struct pass_model *pass = &model[ask->account][ask->pass];
	switch (ask->message) {
	case MSG_PASS_CREATE:
		if (reply->err == ERR_RESOURCE_CONFLICT) check_presence(ask, pass, OK);
		if (reply->err) return;
		must((!pass->is_live || pass->is_unsure) && balance_of(reply) == 0);
		*pass = (struct pass_model){.is_live = true};
		return;
	case MSG_PASS_LOYALTY:
		check_presence(ask, pass, reply->err);
		if (!reply->err) pass->balance += ask->delta;
		must(pass->balance <= BALANCE_MAX && pass->balance >= -BALANCE_MAX);
		return;
	case MSG_PASS_GET:
		check_presence(ask, pass, reply->err);
		if (!reply->err && pass->is_live) must(balance_of(reply) == pass->balance);
		return;
	case MSG_PASS_PATCH: check_presence(ask, pass, reply->err); return;
	case MSG_PASS_DELETE:
		check_presence(ask, pass, reply->err);
		if (!reply->err) pass->is_live = false;
		return;
	case MSG_PASS_ERASE: note_erased(ask, pass, reply->err); return;
	default: return;
	}
}

static void keep_answer(const struct reply *reply)
{
	msgpack_packer packer = buffer_packer(&heard);
	msgpack_pack_uint32(&packer, (uint32_t)reply->err);
	msgpack_pack_object(&packer, *reply->payload);
}

static void on_reply(const struct reply *reply)
{
	must(reply->id > 0 && reply->id <= asked);
	must(!answered[reply->id - 1]); /* one final answer each */
	if (keeping) keep_answer(reply);
	bool has_begun = begun[reply->id - 1]; /* a creation: the pass existed at the first answer */
	if (reply->flags & REPLY_MORE) {
		begun[reply->id - 1] = rpcs[reply->id - 1].message == MSG_PASS_CREATE;
		if (begun[reply->id - 1]) note_answer(&rpcs[reply->id - 1], reply);
		return;
	}
	answered[reply->id - 1] = true;
	waiting--;
	if (has_begun) return;
	must(reply->err != ERR_INTERNAL && reply->err != ERR_IO && reply->err != ERR_DAMAGED);
	note_answer(&rpcs[reply->id - 1], reply);
}

/* The result of a fetch: rarely success, mostly a temporary or permanent failure. */
static const enum err fetch_words[] = {OK, ERR_IMAGE_REFUSED, ERR_IMAGE_UNREACHABLE};

/* The timer's part. */
static void answer_timer_s(const struct frame *frame)
{
	struct frame_out out = {.count = 0};
	for (uint32_t i = 0; i < frame->count; i++) {
		struct call call;
		must(call_open(&frame->items[i], &call) == OK);
		must(call.message == MSG_FETCH);
		frame_reply(&out, call.id, fetch_words[call.id % 3], 0, span_of(NULL, 0));
		msgpack_packer packer = frame_out_packer(&out);
		msgpack_pack_nil(&packer);
	}
	if (!timer_is_mute) post_in(&peers[TIMER], frame_seal_replies(&out, engine->facts.epoch));
	buffer_free(&out.bytes);
}

static void take_answers(void)
{
	struct peer  to;
	struct span  bytes;
	struct frame frame;
	struct reply reply;
	while (post_out(&to, &bytes)) {
		msgpack_zone *zone = msgpack_zone_new(1024);
		must(zone && frame_open(bytes, zone, &frame) == OK);
		if (frame.kind == FRAME_CALLS) answer_timer_s(&frame);
		for (uint32_t i = 0; frame.kind == FRAME_REPLIES && i < frame.count; i++) {
			must(reply_open(&frame.items[i], &reply) == OK);
			if (to.id[0] != peers[STRANGER].id[0]) on_reply(&reply);
		}
		msgpack_zone_free(zone);
	}
}

/* Turns --------------------------------------------------------------------------------------------------- */

static void send_filled(void)
{
	for (enum who who = 0; who < WHO_COUNT; who++) {
		if (!filling[who].count) continue;
		post_in(&peers[who], frame_seal_calls(&filling[who], engine->facts.epoch, 1, 1));
		frame_clear(&filling[who]);
	}
}

static void turn(void)
{
	bool more;
	post_set_time(now);
	must(engine_turn(engine, now, service_now, &more) == OK);
	take_answers();
}

static bool is_quiet(void)
{
	return !waiting && !channel_waiting(NULL) && engine_is_idle(engine) && !store_open_bytes(store) &&
	       engine->frame_at >= engine->frame.count;
}

/* Runs until every call has its answer. Turns that take seconds of the engine's time without one count as a
 * hang. At a pace of IDLE_US the engine commits in between; at a shorter pace durable records stay in the
 * journal. */
enum { IDLE_US = 4000, BUSY_US = 100 };
static void settle_at(int64_t pace_us)
{
	send_filled();
	for (unsigned i = 0; !is_quiet() || i < 2; i++) {
		struct pollfd news[] = {{.fd = store_fd(store), .events = POLLIN},
		                        {.fd = readers_fd(engine->readers), .events = POLLIN},
		                        {.fd = readers_fd(engine->signers), .events = POLLIN}};
		must(i < TURNS_MAX);
		turn();
		bool threads_work = store_is_syncing(store) ||
		                    waiting > engine->issuance.wait_count +
		                                  engine->polls[POLL_DELIVERIES].is_kept +
		                                  engine->polls[POLL_PUSHES].is_kept;
		int64_t us = threads_work || !waiting
		                 ? pace_us
		                 : 10 * IDLE_US; /* for the timer, or until something is due */
		now.v += us;
		service_now.v += us;
		if (threads_work && i > 1) (void)poll(news, 3, 5);
	}
}

static void settle(void)
{
	settle_at(IDLE_US);
}

/* Steps --------------------------------------------------------------------------------------------------- */

/* Mostly a permitted sender, sometimes another. Only one of the two permitted ones sends creations: answers
 * to different senders may be in any order, and the model learns about passes from answers. */
static enum who sender_of(enum message message, uint8_t how)
{
	unsigned senders = message_row(message)->senders;
	if (message == MSG_PASS_CREATE) return FRONTEND;
	if (how >= 250) return (enum who)(how % STRANGER);
	if (senders & 1u << ROLE_HTTP && (how & 1 || !(senders & 1u << ROLE_CLI))) return FRONTEND;
	return senders & 1u << ROLE_TIMER ? TIMER : COMMAND_LINE;
}

static void ask(struct supply *supply, enum message message, uint8_t how, unsigned account)
{
	enum who    who = sender_of(message, how);
	struct call head = {.id = asked + 1,
	                    .message = message,
	                    .deadline = {now.v + CALL_DEADLINE_MS * US_PER_MS},
	                    .has_account = how != 249,
	                    .account = ask_account(account)};
	if (asked == ASKS_MAX) return;
	struct ask *made = &rpcs[asked];
	made->account = account;
	if (how == 248) head.deadline = now;
	if ((head.has_key_hash = who == FRONTEND && how != 247))
		ask_key_hash(account, how == 246, head.key_hash);
	ask_make(supply, &head, &filling[who], made);
	if (!head.has_account) made->pass = -1;
	begun[asked] = false;
	answered[asked++] = false;
	waiting++;
}

static void ask_plainly(enum message message, unsigned account, struct span arguments)
{
	struct supply supply = {arguments};
	ask(&supply, message, message_row(message)->senders & 1u << ROLE_HTTP, account);
}

/* Creates an account with its templates, which most messages need. */
static void open_account(unsigned account)
{
	static const uint8_t first[] = {0, 0}, second[] = {8, 0}, with_webhooks[] = {0, 0, 0, 1};
	ask_plainly(MSG_ACCOUNT_CREATE, account, span_of(with_webhooks, sizeof with_webhooks));
	ask_plainly(MSG_TEMPLATE_PUT, account, span_of(first, sizeof first));
	ask_plainly(MSG_TEMPLATE_PUT, account, span_of(second, sizeof second));
}

/* Creates a subscription. */
static void subscribe(unsigned account)
{
	static const uint8_t created[] = {0, 0, 0, 0}, balances[] = {0, 1, 0, 1};
	ask_plainly(MSG_SUBSCRIPTION_CREATE, account, span_of(created, sizeof created));
	ask_plainly(MSG_SUBSCRIPTION_CREATE, account, span_of(balances, sizeof balances));
}

static void beat(void)
{
	if (!timer_is_deaf) ask_plainly(MSG_HEARTBEAT, 0, span_of(NULL, 0));
}

/* Read-only requests, whose answers are recorded. */
static void ask_all(struct buffer *answers)
{
	static const enum message messages[] = {MSG_ACCOUNT_SHOW, MSG_KEY_LIST, MSG_TEMPLATE_LIST,
	                                        MSG_TEMPLATE_FIELDS, MSG_DELIVERY_LIST};
	settle();
	now.v += 10 * US_PER_SEC; /* accounts with a rate have their full burst again */
	service_now.v += 10 * US_PER_SEC;
	buffer_clear(&heard);
	keeping = true;
	for (unsigned account = 0; account < ASK_ACCOUNTS; account++) {
		for (unsigned i = 0; i < sizeof messages / sizeof *messages; i++)
			ask_plainly(messages[i], account, span_of("\x07", 1));
		for (uint8_t pass = 0; pass < ASK_PASSES; pass++) {
			uint8_t get[] = {0, pass, 7};
			ask_plainly(MSG_PASS_GET, account, span_of(get, sizeof get));
			ask_plainly(MSG_PASS_HISTORY, account, span_of(get, sizeof get));
			settle();
		}
	}
	ask_plainly(MSG_ACCOUNT_LIST, 0, span_of(NULL, 0));
	settle();
	keeping = false;
	buffer_clear(answers);
	buffer_append(answers, heard.at, heard.size);
}

static void restart(bool killed)
{
	static struct buffer before, after;
	struct test_dir      copy;
	settle_at(killed ? BUSY_US : IDLE_US);
	int64_t offset = atomic_load(&engine->facts.clock_offset);
	if (killed) test_dir_copy(&test_dir, &copy);
	ask_all(&before);
	stop();
	post_reset();
	if (killed) {
		test_dir_remove(&test_dir);
		test_dir = copy;
	}
	start();
	ask_all(&after);
	must(span_equal(buffer_span(&before), buffer_span(&after)));
	must(atomic_load(&engine->facts.clock_offset) == offset);
}

static void step_raw(struct supply *supply)
{
	post_in(&peers[STRANGER], supply_bytes(supply, supply_byte(supply)));
}

static void step_time(struct supply *supply)
{
	uint8_t how = supply_byte(supply);
	int64_t us = how < 128 ? how * 1000 : (how - 127) * US_PER_SEC / 8;
	now.v += us;
	if (how & 1) service_now.v += us;
}

static void step_timer(struct supply *supply)
{
	uint8_t how = supply_byte(supply);
	timer_is_mute = how % 3 == 2;
	timer_is_deaf = how > 200;
}

static void step_ask(struct supply *supply, uint8_t what)
{
	static const enum message often[] = {MSG_PASS_CREATE, MSG_PASS_LOYALTY, MSG_PASS_LOYALTY,
	                                     MSG_PASS_GET,    MSG_PASS_PATCH,   MSG_PASS_DELETE,
	                                     MSG_PASS_EVENT,  MSG_PASS_LIST};
	static const enum message deliver[] = {MSG_DELIVERY_LEASE, MSG_DELIVERY_LEASE, MSG_DELIVERY_REPORT,
	                                       MSG_DELIVERY_RENDER};
	enum message              message = what < 128   ? often[what % 8]
	                                    : what < 152 ? deliver[what % 4]
	                                    : what < 157 ? MSG_PASS_PAGE
	                                    : what < 160 ? MSG_PASS_ERASE
	                                                 : (enum message)(what % MSG_COUNT);
	uint8_t                   how = supply_byte(supply);
	if (message_row(message)->receiver != ROLE_SHARD) return;
	if (message == MSG_PASS_ERASE) settle(); /* its answer must not overtake the frontend's */
	ask(supply, message, how, how / 2 % ASK_ACCOUNTS);
	if (message == MSG_PASS_ERASE) settle();
}

static void drive(struct supply *supply)
{
	unsigned restarts = 0;
	for (unsigned i = 0; i < STEPS_MAX && supply->left.size; i++) {
		uint8_t what = supply_byte(supply);
		beat();
		if (what < 224)
			step_ask(supply, what);
		else if (what < 232)
			settle();
		else if (what < 236)
			step_time(supply);
		else if (what < 240)
			step_timer(supply);
		else if (what < 246)
			step_raw(supply);
		else if (what < 252)
			send_filled(), turn();
		else if (restarts++ < RESTARTS_MAX)
			restart(what & 1);
	}
}

static void audit(void)
{
	static struct faults faults;
	struct audit         audit;
	struct view         *view;
	faults.count = 0;
	settle();
	must(store_is_committed(store) || store_commit(store) == OK);
	must(store_write_all(store) == OK); /* the audit reads rows */
	must(store_reader_open(store, &arena, &view) == OK && store_reader_begin(view) == OK);
	check_queue(&engine->deliveries, view, now);
	must(audit_tables(view, &audit, &faults, NULL) == OK);
	if (faults.count) fprintf(stderr, "%s\n", faults.texts[0]);
	must(faults.count == 0);
	store_reader_end(view);
	store_reader_close(&view);
	arena_reset(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct supply supply = {span_of(bytes, size)};
	memset(model, 0, sizeof model);
	asked = waiting = 0;
	ask_forget();
	timer_is_deaf = false;
	timer_is_mute = false;
	now.v = service_now.v = 1000 * US_PER_SEC;
	post_reset();
	test_dir_make(&test_dir);
	start();
	beat();
	for (unsigned account = 0; account < ASK_ACCOUNTS - 1; account++)
		open_account(account);
	settle();
	beat();
	for (unsigned account = 0; account < ASK_ACCOUNTS - 1; account++)
		subscribe(account);
	settle();
	drive(&supply);
	audit();
	stop();
	test_dir_remove(&test_dir);
	return 0;
}
