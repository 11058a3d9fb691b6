/* The timer's side of deliveries, with a shard controlled by the test. Leased deliveries are rendered;
 * rendered ones are attempted or reported; each lease is reported exactly once until the report is
 * acknowledged, whatever the shard sends. Scenarios test attempts that reach an endpoint. */
#include "tests/unit/callee.h"

#include "actors/timer/deliver.h"
#include "schemas/delivery.h"
#include "schemas/api/delivery.h"

#include <arpa/inet.h>
#include <inttypes.h>

enum { INSTANCE = 7, PLACES = 40 };

static struct egress        *egress;
static struct address_rules  rules;
static struct deliver       *deliver;
static uint32_t              frame_at;
static struct call           asked; /* the timer's last call */
static uint8_t               leases[LEASES_PER_CALL_MAX + 1][LEASE_BYTES];
static struct attempt_report told[PLACES]; /* the reports of one call */
static unsigned              told_count;

static void dispatch(void *user, const struct reply *reply)
{
	struct asked *call = user;
	call->on_reply(call, reply);
}

static void on_done(void *context, const struct egress_outcome *outcome)
{
	struct egress_job *job = outcome->user;
	(void)context;
	job->on_done(job, outcome);
}

static void make_leases(void)
{
	for (uint8_t i = 0; i <= LEASES_PER_CALL_MAX; i++) {
		struct lease lease = {.event = {{i}}, .token = 100u + i};
		lease_write(&lease, leases[i]);
	}
}

static void begin_with(uint32_t places)
{
	struct egress_options options = {.rules = &rules, .done = on_done};
	begin();
	rpc_close(&rpc);
	cr_assert_eq(rpc_open(&rpc, endpoint, ROLE_TIMER, 0, dispatch), OK);
	do
		cr_assert(callee_gets(FRAME_HELLO));
	while (frame.role != ROLE_TIMER);
	callee_welcomes(EPOCH, 100, 1 << 20);
	cr_assert(pump_until_state(RPC_UP));
	cr_assert_eq(egress_open(&egress, &options), OK);
	cr_assert_eq(deliver_open(&deliver, rpc, egress, INSTANCE, places), OK);
	frame.count = frame_at = 0;
	make_leases();
}

static void begin_delivering(void)
{
	begin_with(PLACES);
}

static void end_delivering(void)
{
	deliver_close(&deliver);
	egress_close(&egress);
	end();
}

TestSuite(deliver, .init = begin_delivering, .fini = end_delivering);

static mono_us halt; /* the fixed time; 0: time passes */
static dur_us  nap;  /* how long the loop might have slept after the last turn */

static void turn(void)
{
	const mono_us here = halt.v ? halt : now();
	nap = deliver_turn(deliver, here);
	rpc_flush(rpc, here);
	(void)rpc_pump(rpc, here, 16);
	(void)egress_turn(egress, here);
}

static bool has_call(void)
{
	if (frame_at < frame.count) return true;
	turn();
	if (channel_recv(callee, &packet)) return false;
	msgpack_zone_clear(&zone);
	cr_assert_eq(frame_open(packet.bytes, &zone, &frame), OK);
	frame_at = 0;
	if (frame.kind != FRAME_CALLS) frame.count = 0;
	return frame_at < frame.count;
}

static void expect_some_call(void)
{
	cr_assert(within_time(has_call()), "no call");
	cr_assert_eq(call_open(&frame.items[frame_at++], &asked), OK);
}

/* The timer's next call is this one. */
static void expect_call(enum message message)
{
	expect_some_call();
	cr_assert_eq(asked.message, message, "%s instead of %s", message_row(asked.message)->name,
	             message_row(message)->name);
}

/* Expects no call now. Time stands still meanwhile, however long the machine takes. */
static void expect_silence(void)
{
	const mono_us here = now();
	for (unsigned i = 0; i < 30; i++, usleep(500)) {
		later.v -= now().v - here.v;
		cr_assert_not(has_call(), "there is a call");
	}
}

static void answer(enum err err, const struct buffer *payload)
{
	struct frame_out out = {0};
	frame_reply(&out, asked.id, err, 0, span_of(NULL, 0));
	if (payload) {
		buffer_append(&out.bytes, payload->at, payload->size);
	} else {
		msgpack_packer packer = frame_out_packer(&out);
		msgpack_pack_nil(&packer);
	}
	callee_sends(frame_seal_replies(&out, EPOCH));
	buffer_free(&out.bytes);
}

static dur_us given_ago;

/* Leases, and the contents for some of them: `items` that `fill` packs. */
static void give_with(unsigned count, size_t cut, unsigned items, void (*fill)(msgpack_packer *packer))
{
	struct buffer payload = {0};
	expect_call(MSG_DELIVERY_LEASE);
	cr_expect_eq(arg_integer(&asked.args[ARG_DELIVERY_LEASE_instance], 0), INSTANCE);
	msgpack_packer packer = buffer_packer(&payload);
	msgpack_pack_array(&packer, 3);
	pack_bin(&packer, span_of(leases, count * LEASE_BYTES - cut));
	msgpack_pack_array(&packer, items);
	if (fill) fill(&packer);
	pack_int(&packer, time_mono().v - given_ago.v);
	answer(OK, &payload);
	buffer_free(&payload);
}

static void give(unsigned count, size_t cut)
{
	give_with(count, cut, 0, NULL);
}

/* Expects a request to render these. The answer has the items that `fill` packs, an array of `items`. */
static void render(unsigned count, unsigned items, void (*fill)(msgpack_packer *packer))
{
	struct buffer payload = {0};
	expect_call(MSG_DELIVERY_RENDER);
	cr_assert(span_equal(arg_span(&asked.args[0]), span_of(leases, count * LEASE_BYTES)));
	msgpack_packer packer = buffer_packer(&payload);
	msgpack_pack_array(&packer, 3);
	msgpack_pack_array(&packer, items);
	if (fill) fill(&packer);
	msgpack_pack_uint8(&packer, 0);
	msgpack_pack_false(&packer);
	answer(OK, &payload);
	buffer_free(&payload);
}

/* Takes the timer's calls until this many reports have arrived. Its requests to render stay unanswered. */
static void take_reports(unsigned count, enum err err)
{
	told_count = 0;
	while (told_count < count) {
		cr_assert(within_time(has_call()), "only %u reports", told_count);
		cr_assert_eq(call_open(&frame.items[frame_at++], &asked), OK);
		if (asked.message != MSG_DELIVERY_REPORT) continue;
		struct span bytes = arg_span(&asked.args[0]);
		cr_assert(bytes.size && bytes.size % ATTEMPT_REPORT_BYTES == 0);
		for (size_t at = 0; at < bytes.size; at += ATTEMPT_REPORT_BYTES) {
			cr_assert_lt(told_count, PLACES);
			cr_assert(attempt_report_read(bytes.at + at, &told[told_count++]));
		}
		answer(err, NULL);
	}
	cr_expect_eq(told_count, count);
}

static void expect_told(uint8_t lease, enum attempt_what what, unsigned error)
{
	unsigned times = 0;
	for (unsigned i = 0; i < told_count; i++) {
		if (told[i].lease.event.b[0] != lease) continue;
		cr_expect(told[i].what == what && told[i].error == error, "lease %u: %d, %s", lease,
		          (int)told[i].what, attempt_word(told[i].error));
		times++;
	}
	cr_expect_eq(times, 1, "lease %u is reported %u times", lease, times);
}

/* ---- answers of the shard ---- */

static void fill_void_and_failed(msgpack_packer *packer)
{
	msgpack_pack_array(packer, 2);
	pack_bin(packer, span_of(leases[1], LEASE_BYTES));
	msgpack_pack_uint8(packer, ATTEMPT_INTERNAL);
	msgpack_pack_array(packer, 1);
	pack_bin(packer, span_of(leases[0], LEASE_BYTES));
}

Test(deliver, reports_leases_without_contents_and_unsendable_ones)
{
	give(3, 0);
	render(3, 2, fill_void_and_failed);
	take_reports(3, OK);
	expect_told(0, ATTEMPT_VOID, ATTEMPT_NONE);
	expect_told(1, ATTEMPT_MADE, ATTEMPT_INTERNAL);
	expect_told(2, ATTEMPT_NOT_MADE, ATTEMPT_NONE); /* missing in the answer */
}

Test(deliver, makes_no_attempt_when_rendering_fails)
{
	give(LEASES_PER_CALL_MAX, 0);
	expect_call(MSG_DELIVERY_RENDER);
	answer(ERR_OVERLOADED, NULL);
	take_reports(LEASES_PER_CALL_MAX, OK);
	for (uint8_t i = 0; i < LEASES_PER_CALL_MAX; i++)
		expect_told(i, ATTEMPT_NOT_MADE, ATTEMPT_NONE);
}

static void pack_rendered(msgpack_packer *packer, unsigned lease, const char *url)
{
	msgpack_pack_array(packer, 6);
	pack_bin(packer, span_of(leases[lease], LEASE_BYTES));
	pack_text(packer, url);
	pack_text(packer, "evt_1");
	msgpack_pack_uint32(packer, 1700000000);
	pack_text(packer, "v1,x");
	pack_bin(packer, span_str("{}"));
}

static void fill_refused(msgpack_packer *packer)
{
	pack_rendered(packer, 0, "https://127.0.0.1:1/");
	pack_rendered(packer, 1, "http://example.com/");
	pack_rendered(packer, 2, "");
}

Test(deliver, connects_to_no_refused_address)
{
	give(3, 0);
	render(3, 3, fill_refused);
	take_reports(3, OK);
	for (uint8_t i = 0; i < 3; i++)
		expect_told(i, ATTEMPT_MADE, ATTEMPT_ADDRESS_REFUSED);
}

/* Malformed items, items of no lease of this call, and duplicates. */
static void fill_rubbish(msgpack_packer *packer)
{
	msgpack_pack_nil(packer);
	msgpack_pack_array(packer, 0);
	msgpack_pack_array(packer, 1);
	pack_text(packer, "text");
	msgpack_pack_array(packer, 1);
	pack_bin(packer, span_of(leases[9], LEASE_BYTES));
	msgpack_pack_array(packer, 1);
	pack_bin(packer, span_of(leases[0], LEASE_BYTES - 1));
	for (unsigned i = 0; i < 2; i++) {
		msgpack_pack_array(packer, 1);
		pack_bin(packer, span_of(leases[0], LEASE_BYTES));
	}
	msgpack_pack_array(packer, 6);
	pack_bin(packer, span_of(leases[1], LEASE_BYTES));
	for (unsigned i = 0; i < 5; i++)
		msgpack_pack_nil(packer);
}

Test(deliver, accepts_only_valid_items_of_its_leases_once)
{
	give(3, 0);
	render(3, 8, fill_rubbish);
	take_reports(3, OK);
	expect_told(0, ATTEMPT_VOID, ATTEMPT_NONE);
	expect_told(1, ATTEMPT_MADE, ATTEMPT_INTERNAL);
	expect_told(2, ATTEMPT_NOT_MADE, ATTEMPT_NONE);
}

Test(deliver, refuses_malformed_leases_and_more_than_requested)
{
	give(3, 1);
	give(LEASES_PER_CALL_MAX + 1, 0);
	expect_call(MSG_DELIVERY_LEASE);
	answer(OK, NULL);
	expect_call(MSG_DELIVERY_LEASE);
	answer(ERR_STORAGE_FULL, NULL);
	expect_silence();
	later.v += 200 * US_PER_MS;
	expect_call(MSG_DELIVERY_LEASE);
}

static void fill_second(msgpack_packer *packer)
{
	msgpack_pack_array(packer, 1);
	pack_bin(packer, span_of(leases[1], LEASE_BYTES));
}

/* A lease with its contents is attempted at once; contents that are missing are requested. */
Test(deliver, requests_missing_contents)
{
	const uint8_t *rest[] = {leases[0], leases[2]};
	give_with(3, 0, 1, fill_second);
	do
		expect_some_call();
	while (asked.message != MSG_DELIVERY_RENDER);
	struct span asked_for = arg_span(&asked.args[0]);
	cr_assert_eq(asked_for.size, 2 * LEASE_BYTES);
	for (unsigned i = 0; i < 2; i++)
		cr_expect_arr_eq(asked_for.at + i * LEASE_BYTES, rest[i], LEASE_BYTES);
	answer(ERR_OVERLOADED, NULL);
	take_reports(3, OK);
	expect_told(0, ATTEMPT_NOT_MADE, ATTEMPT_NONE);
	expect_told(1, ATTEMPT_VOID, ATTEMPT_NONE);
	expect_told(2, ATTEMPT_NOT_MADE, ATTEMPT_NONE);
}

/* The subscriber may have deactivated it meanwhile. */
Test(deliver, renders_again_after_a_long_wait)
{
	given_ago.v = (HANDED_FRESH_MS + 1) * US_PER_MS;
	give_with(2, 0, 1, fill_second);
	do
		expect_some_call();
	while (asked.message != MSG_DELIVERY_RENDER);
	cr_expect_eq(arg_span(&asked.args[0]).size, 2 * LEASE_BYTES);
}

/* No lease can be from the future by this machine's clock. Another machine's clock made it, so its age is
 * unknown. */
Test(deliver, renders_again_if_the_time_is_in_the_future)
{
	given_ago.v = -US_PER_SEC;
	give_with(2, 0, 1, fill_second);
	do
		expect_some_call();
	while (asked.message != MSG_DELIVERY_RENDER);
	cr_expect_eq(arg_span(&asked.args[0]).size, 2 * LEASE_BYTES);
}

/* ---- reports ---- */

static char endless[64]; /* the URL of an endpoint that never answers */

static void fill_endless_and_void(msgpack_packer *packer)
{
	pack_rendered(packer, 0, endless);
	fill_second(packer);
}

/* A journal record for each single report would be wasteful, but none waits for long. */
Test(deliver, batches_reports_while_attempts_are_in_progress)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t          size = sizeof at;
	int                mute = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(!bind(mute, (struct sockaddr *)&at, sizeof at) && !listen(mute, 1));
	cr_assert(!getsockname(mute, (struct sockaddr *)&at, &size));
	snprintf(endless, sizeof endless, "https://127.0.0.1:%u/", ntohs(at.sin_port));
	rules.allow_private = true;
	halt = now();
	give_with(2, 0, 2, fill_endless_and_void);
	expect_call(MSG_DELIVERY_LEASE);
	expect_silence();
	halt.v += US_PER_MS;
	take_reports(1, OK);
	expect_told(1, ATTEMPT_VOID, ATTEMPT_NONE);
	close(mute);
}

Test(deliver, repeats_reports_without_an_acknowledgement)
{
	give(2, 0);
	render(2, 0, NULL);
	take_reports(2, ERR_STORAGE_FULL);
	expect_silence();
	cr_expect(nap.v > 0 && nap.v <= 201 * US_PER_MS, "%" PRId64 " us",
	          nap.v); /* the answer came after `now` */
	for (unsigned i = 0; i < 3; i++) {
		later.v += 200 * US_PER_MS;
		take_reports(2, ERR_STORAGE_FULL);
		expect_told(0, ATTEMPT_NOT_MADE, ATTEMPT_NONE);
		expect_told(1, ATTEMPT_NOT_MADE, ATTEMPT_NONE);
	}
	later.v += 200 * US_PER_MS;
	take_reports(2, ERR_MALFORMED); /* it can never succeed */
	later.v += 200 * US_PER_MS;
	expect_silence();
	cr_expect_eq(nap.v, INT64_MAX);
}

/* It holds no more leases than slots until its reports are acknowledged. */
Test(deliver_few, requests_no_more_leases_than_it_has_slots)
{
	begin_with(3);
	give(2, 0);
	render(2, 0, NULL);
	expect_call(MSG_DELIVERY_LEASE);
	cr_expect_eq(arg_integer(&asked.args[ARG_DELIVERY_LEASE_count], 0), 1);
	end_delivering();
}
