/* The supervisor's server: which process may report for a child. A killed process leaves HELLO and reports in
 * the channel. */
#include "actors/supervisor/status_server.h"
#include "schemas/api/system.h"
#include "schemas/frame.h"
#include "tests/unit/patience.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EPOCH = 9, STARTED = 1000, PID = 4711, CALLER_CREDIT = 1 << 20 };

static char                  dir[] = "/tmp/stampede-server-XXXXXX";
static char                  endpoint[64];
static struct children       children;
static struct status_server *server;
static struct channel       *child;
static struct packet         packet;
static msgpack_zone          zone;

static void begin(void)
{
	cr_assert(mkdtemp(dir));
	snprintf(endpoint, sizeof endpoint, "ipc://%s/d", dir);
	children = (struct children){.count = 2, .options.gate_fd = -1};
	children.of[0] = (struct child){
	    .role = ROLE_SHARD, .state = CHILD_STARTING, .pid = PID, .started = {STARTED}};
	children.of[1] = (struct child){.role = ROLE_TIMER, .state = CHILD_STARTING, .pid = PID + 1};
	cr_assert_eq(status_server_open(&server, endpoint, EPOCH, &children, NULL), OK);
	cr_assert_eq(channel_connect(&child, endpoint), OK);
	cr_assert(within_time(channel_link(child) == LINK_UP));
	msgpack_zone_init(&zone, 8192);
}

static void end(void)
{
	packet_close(&packet);
	channel_close(&child);
	status_server_close(&server);
	msgpack_zone_destroy(&zone);
	unlink(endpoint + strlen("ipc://"));
	rmdir(dir);
}

TestSuite(status_server, .init = begin, .fini = end);

/* Sends, and reads the status server's answer. */
static struct frame rpc(struct span bytes)
{
	struct frame frame = {.kind = FRAME_HELLO};
	cr_assert_eq(channel_send(child, NULL, bytes), OK);
	cr_assert(within_time(
	    ((void)status_server_pump(server, (mono_us){STARTED}), channel_recv(child, &packet) == OK)));
	msgpack_zone_clear(&zone);
	cr_assert_eq(frame_open(packet.bytes, &zone, &frame), OK);
	return frame;
}

static void hello(int64_t begun)
{
	struct buffer      bytes = {0};
	const struct frame said = {.role = ROLE_SHARD, .begun = {begun}, .credit_bytes = CALLER_CREDIT};
	frame_hello(&bytes, &said);
	struct frame welcome = rpc(buffer_span(&bytes));
	cr_expect_eq(welcome.kind, FRAME_WELCOME);
	cr_expect_eq(welcome.begun.v, begun);
	buffer_free(&bytes);
}

/* Returns the bytes of this session that the server has acknowledged. */
static uint64_t report(const char *state, size_t *size)
{
	struct frame_out out = {.count = 0};
	struct call      head = {.id = 1, .message = MSG_REPORT};
	frame_call(&out, &head);
	msgpack_packer packer = frame_out_packer(&out);
	msgpack_pack_array(&packer, ARGS_REPORT);
	pack_text(&packer, state);
	pack_int(&packer, 3);
	struct span bytes = frame_seal_calls(&out, EPOCH, 1, 1);
	*size = bytes.size;
	struct frame replies = rpc(bytes);
	cr_expect(replies.kind == FRAME_REPLIES && replies.count == 1);
	buffer_free(&out.bytes);
	return replies.taken;
}

Test(status_server, accepts_a_session_begun_after_the_childs_start)
{
	size_t size;
	hello(STARTED);
	(void)report("ready", &size);
	cr_expect_eq(children.of[0].state, CHILD_READY);
	cr_expect_eq(children.of[0].epoch, 3);
}

Test(status_server, does_not_count_a_dead_childs_report_for_its_successor)
{
	size_t size;
	hello(STARTED - 1);
	(void)report("ready", &size);
	cr_expect_eq(children.of[0].state, CHILD_STARTING);
	cr_expect_eq(children.of[0].epoch, 0);
	(void)report("judged", &size);
	cr_expect_not(children.of[0].is_judged);
}

/* A child sends reports for months: the bytes of each must return to its credit. */
Test(status_server, sends_receipts)
{
	size_t size;
	hello(STARTED);
	cr_expect_eq(report("ready", &size), size);
	cr_expect_eq(report("ready", &size), 2 * size);
	hello(STARTED);
	cr_expect_eq(report("ready", &size), 3 * size, "that was the same session");
	hello(STARTED + 1);
	cr_expect_eq(report("ready", &size), size);
}
