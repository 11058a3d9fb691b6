/* The caller's side of a session, with a callee controlled by the test: a bound channel in the same thread.
 * Time is an argument, so a test waits for a deadline by adding to `later`. */
#include "tests/unit/patience.h"
#include "actors/rpc/rpc.h"
#include "actors/rt/time.h"
#include "schemas/api/pass.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EPOCH = 41, ENDS_MAX = 4096 };

static char dir[] = "/tmp/stampede-ask-XXXXXX";
static char endpoint[64];

static struct rpc     *rpc;
static struct channel *callee;
static struct packet   packet;                   /* the last message that the callee received */
static struct frame    frame;                    /* the same as a frame */
static mono_us         begun;                    /* the session that the last HELLO named */
static uint64_t        callee_took, callee_sent; /* bytes of that session */
static msgpack_zone    zone;
static dur_us          later; /* offset of the test's time */

static struct {
	int      user;
	enum err err;
	unsigned flags;
} ends[ENDS_MAX]; /* results reported to on_reply, in order */
static int  end_count;
static bool call_again; /* on_reply makes one more call */

static inline mono_us now(void)
{
	return mono_after(time_mono(), later);
}

static inline bool pump(void)
{
	return rpc_pump(rpc, now(), 16);
}

static inline bool pump_until_state(enum rpc_state state)
{
	return within_time((pump(), rpc_state(rpc) == state));
}

static inline bool pump_until_ends(int count)
{
	return within_time((pump(), end_count >= count));
}

/* Begins a call with `size` bytes of arguments. Users are numbers. */
static inline enum err call_sized(enum message message, int user, size_t size, uint64_t *id)
{
	struct call    head = {.message = message, .deadline = mono_after(now(), (dur_us){US_PER_SEC})};
	msgpack_packer packer;
	enum err       err = rpc_begin(rpc, &head, (void *)(intptr_t)user, &packer);
	if (err) return err;
	char *text = calloc(1, size + 1);
	msgpack_pack_array(&packer, message == MSG_PASS_LOYALTY ? ARGS_PASS_LOYALTY : ARGS_PASS_GET);
	pack_str(&packer, span_of(text, size));
	if (message == MSG_PASS_LOYALTY) pack_int(&packer, 1);
	msgpack_pack_nil(&packer);
	rpc_commit(rpc);
	free(text);
	*id = head.id;
	return OK;
}

static inline uint64_t call(enum message message, int user)
{
	uint64_t id = 0;
	cr_assert_eq(call_sized(message, user, 10, &id), OK);
	cr_assert_neq(id, 0);
	return id;
}

static inline void on_reply(void *user, const struct reply *reply)
{
	cr_assert_lt(end_count, (int)ENDS_MAX);
	ends[end_count].user = (int)(intptr_t)user;
	ends[end_count].err = reply->err;
	ends[end_count++].flags = reply->flags;
	if (!call_again) return;
	call_again = false;
	(void)call(MSG_PASS_GET, 99);
}

static inline void flush(void)
{
	rpc_flush(rpc, now());
}

/* The callee receives one frame of this kind. */
static inline bool callee_gets(enum frame_kind kind)
{
	if (!within_time((pump(), channel_recv(callee, &packet) == OK))) return false;
	msgpack_zone_clear(&zone);
	cr_assert_eq(frame_open(packet.bytes, &zone, &frame), OK);
	if (frame.kind == FRAME_HELLO) {
		begun = frame.begun;
		callee_took = callee_sent = 0;
	} else {
		callee_took += packet.bytes.size;
	}
	return frame.kind == kind;
}

static inline void callee_sends(struct span bytes)
{
	cr_assert_eq(channel_send(callee, &packet.from, bytes), OK);
}

static inline void callee_welcomes(uint64_t epoch, uint32_t credit_commands, uint32_t credit_bytes)
{
	struct buffer      bytes = {0};
	const struct frame welcome = {.epoch = epoch,
	                              .begun = begun,
	                              .credit_commands = credit_commands,
	                              .credit_bytes = credit_bytes,
	                              .placement_version = 1};
	frame_welcome(&bytes, &welcome);
	callee_sends(buffer_span(&bytes));
	buffer_free(&bytes);
}

/* A frame of replies, or of calls, with a receipt. */
static inline void callee_sends_items(struct frame_out *out, uint64_t taken)
{
	frame_set_taken(&out->bytes, taken);
	callee_sends(buffer_span(&out->bytes));
	callee_sent += out->bytes.size;
	buffer_free(&out->bytes);
}

static inline void callee_replies_sized(uint64_t epoch, uint64_t id, enum err err, unsigned flags,
                                        size_t size)
{
	struct frame_out out = {0};
	char            *text = calloc(1, size + 1);
	frame_reply(&out, id, err, flags, span_of(NULL, 0));
	msgpack_packer packer = frame_out_packer(&out);
	pack_str(&packer, span_of(text, size));
	free(text);
	(void)frame_seal_replies(&out, epoch);
	callee_sends_items(&out, callee_took);
}

static inline void callee_replies(uint64_t epoch, uint64_t id, enum err err, unsigned flags)
{
	callee_replies_sized(epoch, id, err, flags, 0);
}

static inline void begin(void)
{
	cr_assert(mkdtemp(dir));
	snprintf(endpoint, sizeof(endpoint), "ipc://%s/c", dir);
	msgpack_zone_init(&zone, 8192);
	cr_assert_eq(channel_bind(&callee, endpoint), OK);
	cr_assert_eq(rpc_open(&rpc, endpoint, ROLE_HTTP, 3, on_reply), OK);
}

static inline void begin_up(void)
{
	begin();
	cr_assert(callee_gets(FRAME_HELLO));
	callee_welcomes(EPOCH, 100, 1 << 20);
	cr_assert(pump_until_state(RPC_UP));
}

static inline void end(void)
{
	packet_close(&packet);
	rpc_close(&rpc);
	channel_close(&callee);
	msgpack_zone_destroy(&zone);
	unlink(endpoint + strlen("ipc://"));
	rmdir(dir);
}

#define expect_end(at, number, error)                                                        \
	do {                                                                                 \
		cr_expect_eq(ends[at].user, number, "end %d is of %d", at, ends[at].user);   \
		cr_expect_eq(ends[at].err, error, "end %d: %s", at, err_code(ends[at].err)); \
	} while (0)
