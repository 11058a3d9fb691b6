/* The caller's side of a session.
 *
 *   DOWN --link up--> HELLO --WELCOME--> UP --link down--> DOWN
 *                       ^                 |
 *                       +-- another epoch, or a frame that cannot be read
 *
 * Only session_begin(), session_up() and session_end() write the state. Lifetime of a call: begin (put into the frame being
 * filled), flush (sent), end: its last reply, the end of the session or its deadline, whichever comes first. Then its place is
 * given back and `on_reply` is called, in this order, so that the callback may call again. A forgotten call keeps its place
 * and its credit, because the callee still works on it. */
#include "actors/rpc/rpc.h"
#include "actors/rpc/calls.h"
#include "actors/rpc/flow.h"
#include "schemas/fields.h"
#include "schemas/limits.h"
#include "schemas/msgpack_check.h"

#include <stdlib.h>

enum {
	HELLO_AGAIN_MS = 500,
	LOOK_AT_TIMES_MS = 50, /* how late a deadline may be noticed */
	ZONE_CHUNK_BYTES = 64 * 1024,
	/* A frame this large is sent early. One more call with the most possible items still fits into what the
	 * callee accepts as one message: no item is smaller than a byte. */
	FRAME_FULL_BYTES = FRAME_NODES_MAX / 2,
	PUMP_BYTES_MAX = 256 << 10, /* of packets in a turn, plus the one that exceeds it */
	/* What arrived before a session ended is read first; credits keep it below this many messages. */
	DRAIN_MAX = SESSION_CREDIT_COMMANDS * 2,
};
_Static_assert(FRAME_FULL_BYTES + SESSION_CREDIT_BYTES < FRAME_BYTES_MAX,
               "a frame may outgrow the transport");

struct rpc {
	struct channel *channel;
	enum role       role;
	uint32_t        index;
	uint32_t        wants; /* enum hello_wants */
	rpc_reply_fn    on_reply;
	rpc_calls_fn    on_calls;
	void           *serve_user;

	struct rpc_traffic *traffic; /* NULL: not counted */

	enum rpc_state state;
	bool           link_is_up;
	mono_us        hello_due; /* in HELLO; at most one every HELLO_AGAIN_MS on a connection */
	mono_us        begun;     /* start of the session; unique in the process */
	uint64_t       epoch;
	uint32_t       placement_version;
	uint32_t       credit_commands;
	size_t         credit_bytes;

	struct flow          flow;
	struct calls         calls;
	struct frame_out     out;
	uint64_t             frame; /* number of the frame being filled; lower ones were sent */
	struct pending_call *open;  /* between begin and commit or abort */
	struct frame_mark    open_mark;
	mono_us              look_due;    /* next check for calls past their deadline */
	bool                 has_refused; /* some refused calls must be ended */
	bool                 heeds_wakes;
	unsigned             woken; /* RPC_WAKE_..., or'ed */

	struct packet packet;
	msgpack_zone  zone;
	bool          has_zone;
	struct buffer hello;
};

enum err rpc_open(struct rpc **rpc, const char *endpoint, enum role role, uint32_t index,
                  rpc_reply_fn on_reply)
{
	enum err    err = ERR_NO_MEMORY;
	struct rpc *made = calloc(1, sizeof(*made));
	if (!made) return ERR_NO_MEMORY;
	made->role = role;
	made->index = index;
	made->on_reply = on_reply;
	if (!calls_open(&made->calls, SESSION_CREDIT_COMMANDS)) goto out;
	made->has_zone = msgpack_zone_init(&made->zone, ZONE_CHUNK_BYTES);
	if (!made->has_zone) goto out;
	if ((err = channel_connect(&made->channel, endpoint))) goto out;
	*rpc = made;
	made = NULL;
out:
	rpc_close(&made);
	return err;
}

void rpc_close(struct rpc **rpc)
{
	struct rpc *ended = *rpc;
	if (!ended) return;
	packet_close(&ended->packet);
	channel_close(&ended->channel);
	if (ended->has_zone) msgpack_zone_destroy(&ended->zone);
	buffer_free(&ended->hello);
	buffer_free(&ended->out.bytes);
	calls_close(&ended->calls);
	free(ended);
	*rpc = NULL;
}

void rpc_want(struct rpc *rpc, unsigned wants)
{
	rpc->wants = wants;
}

enum rpc_state rpc_state(const struct rpc *rpc)
{
	return rpc->state;
}

uint64_t rpc_epoch(const struct rpc *rpc)
{
	return rpc->state == RPC_UP ? rpc->epoch : 0;
}

uint32_t rpc_outstanding(const struct rpc *rpc)
{
	return rpc->calls.outstanding;
}

void rpc_count(struct rpc *rpc, struct rpc_traffic *traffic)
{
	rpc->traffic = traffic;
}

void rpc_heeds_wakes(struct rpc *rpc)
{
	rpc->heeds_wakes = true;
	rpc->woken = RPC_WAKE_MAIL | RPC_WAKE_LINK;
}

void rpc_woken(struct rpc *rpc, enum rpc_wake what)
{
	rpc->woken |= what;
}

int rpc_fd(const struct rpc *rpc)
{
	return channel_fd(rpc->channel);
}

int rpc_link_fd(const struct rpc *rpc)
{
	return channel_link_fd(rpc->channel);
}

/* ---- ends of calls ---- */

static void end_call(struct rpc *rpc, struct pending_call *call, const struct reply *reply)
{
	void *user = call->user;
	bool  wanted = !call->forgotten;
	calls_give_back(&rpc->calls, call);
	if (wanted) rpc->on_reply(user, reply);
}

static void fail_call(struct rpc *rpc, struct pending_call *call, enum err err)
{
	static const msgpack_object nil = {.type = MSGPACK_OBJECT_NIL};
	const struct reply          reply = {.id = calls_id(&rpc->calls, call), .err = err, .payload = &nil};
	end_call(rpc, call, &reply);
}

static bool was_sent(const struct rpc *rpc, const struct pending_call *call)
{
	return call->frame < rpc->frame;
}

/* The error of a call that will not be answered. */
static enum err fate_of(const struct rpc *rpc, const struct pending_call *call)
{
	if (call->refusal) return call->refusal;
	return was_sent(rpc, call) && call->effect == EFFECT_WRITE ? ERR_OUTCOME_UNKNOWN
	                                                           : ERR_SHARD_UNAVAILABLE;
}

/* ---- calls ---- */

/* Bytes that count against the credit: of calls without an answer, or of what the callee has not received, whichever is more.
 * A stalled callee still holds what was sent, even after the calls' deadlines. */
static size_t used_bytes(const struct rpc *rpc)
{
	struct frame_mark gathered = rpc->open ? rpc->open_mark : frame_mark(&rpc->out);
	size_t            on_their_way = flow_on_its_way(&rpc->flow);
	if (gathered.count) on_their_way += gathered.size;
	return on_their_way > rpc->calls.outstanding_bytes ? on_their_way : rpc->calls.outstanding_bytes;
}

enum err rpc_begin(struct rpc *rpc, struct call *head, void *user, msgpack_packer *packer)
{
	must(!rpc->open);
	if (rpc->state != RPC_UP) return ERR_SHARD_UNAVAILABLE;
	if (rpc->calls.outstanding >= rpc->credit_commands) return ERR_OVERLOADED;
	if (used_bytes(rpc) >= rpc->credit_bytes) return ERR_OVERLOADED;
	/* A full frame that could not be sent takes no more calls: it would exceed what the callee accepts. */
	if (rpc->out.bytes.size >= FRAME_FULL_BYTES) return ERR_OVERLOADED;

	struct pending_call *call = calls_take(&rpc->calls);
	call->effect = message_row(head->message)->effect;
	call->deadline = head->deadline;
	call->frame = rpc->frame;
	call->user = user;
	head->id = calls_id(&rpc->calls, call);
	rpc->open = call;
	frame_begin_calls(&rpc->out);
	rpc->open_mark = frame_mark(&rpc->out);
	frame_call(&rpc->out, head);
	*packer = frame_out_packer(&rpc->out);
	return OK;
}

static enum err send_frame(struct rpc *rpc, struct buffer *frame)
{
	frame_set_taken(frame, rpc->flow.taken);
	enum err err = channel_send(rpc->channel, NULL, buffer_span(frame));
	if (!err) flow_sent(&rpc->flow, frame->size);
	return err;
}

static void send_calls(struct rpc *rpc)
{
	struct span frame = frame_seal_calls(&rpc->out, rpc->epoch, rpc->placement_version,
	                                     rpc->calls.outstanding);
	if (frame.size == 0 || send_frame(rpc, &rpc->out.bytes)) return;
	rpc->frame++;
	if (rpc->traffic && rpc->out.count) histogram_add(&rpc->traffic->calls, &scale_items, rpc->out.count);
	frame_clear(&rpc->out);
}

/* Sends the frame. If the transport refuses it, it stays until the next flush or the end of the session. */
static void send_gathered(struct rpc *rpc)
{
	if (rpc->state == RPC_UP && rpc->out.count) send_calls(rpc);
}

/* May the open call leave, now that its size is known? */
static enum err open_admitted(const struct rpc *rpc)
{
	if (rpc->out.bytes.failed) return ERR_OVERLOADED;
	struct span call = span_of(rpc->out.bytes.at + rpc->open_mark.size,
	                           rpc->out.bytes.size - rpc->open_mark.size);
	if (call.size > rpc->credit_bytes) return ERR_PAYLOAD_TOO_LARGE;
	if (call.size > rpc->credit_bytes - used_bytes(rpc)) return ERR_OVERLOADED;
	/* Only a large call can have too many items; in its frame it is two containers deep. */
	if (call.size > FRAME_FULL_BYTES && msgpack_check(call, FRAME_DEPTH_MAX - 2, FRAME_NODES_MAX / 2))
		return ERR_PAYLOAD_TOO_LARGE;
	return OK;
}

void rpc_commit(struct rpc *rpc)
{
	struct pending_call *call = rpc->open;
	must(call != NULL);
	call->refusal = open_admitted(rpc);
	rpc->open = NULL;
	if (call->refusal) {
		frame_drop(&rpc->out, rpc->open_mark);
		rpc->has_refused = true;
		return;
	}
	calls_count_bytes(&rpc->calls, call, rpc->out.bytes.size - rpc->open_mark.size);
	if (rpc->out.bytes.size >= FRAME_FULL_BYTES || rpc->out.count >= FRAME_CALLS_FULL) send_gathered(rpc);
}

void rpc_abort(struct rpc *rpc)
{
	must(rpc->open != NULL);
	frame_drop(&rpc->out, rpc->open_mark);
	calls_give_back(&rpc->calls, rpc->open);
	rpc->open = NULL;
}

void rpc_forget(struct rpc *rpc, uint64_t id)
{
	struct pending_call *call = calls_find(&rpc->calls, id);
	if (call) call->forgotten = true;
}

void rpc_extend(struct rpc *rpc, uint64_t id, mono_us deadline)
{
	struct pending_call *call = calls_find(&rpc->calls, id);
	if (call) call->deadline = deadline;
}

void rpc_flush(struct rpc *rpc, mono_us now)
{
	(void)now; /* like all functions of a turn; unused so far */
	must(!rpc->open);
	send_gathered(rpc);
}

bool rpc_waiting(struct rpc *rpc)
{
	return channel_waiting(rpc->channel);
}

void rpc_serve(struct rpc *rpc, rpc_calls_fn on_calls, void *user)
{
	rpc->on_calls = on_calls;
	rpc->serve_user = user;
}

enum err rpc_answer(struct rpc *rpc, struct frame_out *replies, uint64_t epoch)
{
	if (frame_seal_replies(replies, epoch).size == 0) return ERR_NO_MEMORY;
	return send_frame(rpc, &replies->bytes);
}

/* ---- the session ---- */

/* Ends every call that `is_over` selects, with what is known of its fate. */
static void fail_calls(struct rpc *rpc, bool (*is_over)(const struct pending_call *call, mono_us now),
                       mono_us     now)
{
	if (rpc->calls.outstanding == 0) return;
	for (uint32_t i = 0; i < rpc->calls.place_count; i++) {
		struct pending_call *call = &rpc->calls.places[i];
		if (call->taken && is_over(call, now)) fail_call(rpc, call, fate_of(rpc, call));
	}
}

static void session_begin(struct rpc *rpc, mono_us now)
{
	rpc->state = RPC_HELLO;
	rpc->hello_due = now;
	rpc->begun = now.v > rpc->begun.v ? now : mono_after(rpc->begun, (dur_us){1});
}

static void session_up(struct rpc *rpc, const struct frame *welcome)
{
	rpc->state = RPC_UP;
	rpc->flow = (struct flow){0};
	rpc->epoch = welcome->epoch;
	rpc->placement_version = welcome->placement_version;
	rpc->credit_commands = welcome->credit_commands < rpc->calls.place_count ? welcome->credit_commands
	                                                                         : rpc->calls.place_count;
	rpc->credit_bytes = welcome->credit_bytes < SESSION_CREDIT_BYTES ? welcome->credit_bytes
	                                                                 : SESSION_CREDIT_BYTES;
}

static void session_end(struct rpc *rpc, mono_us now)
{
	rpc->state = RPC_DOWN;
	if (rpc->link_is_up) session_begin(rpc, now);
	frame_clear(&rpc->out);
	fail_calls(rpc, call_is_any, now);
	rpc->has_refused = false;
}

static void say_hello(struct rpc *rpc, mono_us now)
{
	const struct frame hello = {.role = rpc->role,
	                            .index = rpc->index,
	                            .wants = rpc->wants,
	                            .begun = rpc->begun,
	                            .credit_bytes = SESSION_ANSWER_BYTES};
	if (rpc->state != RPC_HELLO || now.v < rpc->hello_due.v) return;
	buffer_clear(&rpc->hello);
	frame_hello(&rpc->hello, &hello);
	/* The link is up but the send failed: the transport is about to report it down. */
	if (rpc->hello.failed || channel_send(rpc->channel, NULL, buffer_span(&rpc->hello))) return;
	rpc->hello_due = mono_after(now, (dur_us){HELLO_AGAIN_MS * US_PER_MS});
}

/* ---- receiving ---- */

enum arrival { NOTHING_CAME, FRAME_TAKEN, SESSION_OVER };

static void take_reply(struct rpc *rpc, const struct reply *reply)
{
	struct pending_call *call = calls_find(&rpc->calls, reply->id);
	if (!call || call->refusal) return;
	if (!(reply->flags & REPLY_MORE)) {
		end_call(rpc, call, reply);
		return;
	}
	/* The callee has decided the call and holds none of its bytes, however long the rest of the reply takes. */
	calls_count_bytes(&rpc->calls, call, 0);
	if (!call->forgotten) rpc->on_reply(call->user, reply);
}

/* Every readable reply counts, also in a frame of another epoch: it is the callee's answer to this very call. */
static enum arrival take_replies(struct rpc *rpc, const struct frame *frame)
{
	enum arrival arrival = FRAME_TAKEN;
	if (rpc->traffic && frame->count) histogram_add(&rpc->traffic->replies, &scale_items, frame->count);
	for (uint32_t i = 0; i < frame->count; i++) {
		struct reply reply;
		if (reply_open(&frame->items[i], &reply))
			arrival = SESSION_OVER;
		else
			take_reply(rpc, &reply);
	}
	return rpc->state == RPC_UP && frame->epoch != rpc->epoch ? SESSION_OVER : arrival;
}

static enum arrival take_frame(struct rpc *rpc, const struct frame *frame)
{
	switch (frame->kind) {
	case FRAME_WELCOME:
		/* A second HELLO gets a second WELCOME; a WELCOME to an earlier session is ignored. */
		if (frame->begun.v != rpc->begun.v) return FRAME_TAKEN;
		if (rpc->state == RPC_HELLO) session_up(rpc, frame);
		return rpc->state == RPC_UP && frame->epoch != rpc->epoch ? SESSION_OVER : FRAME_TAKEN;
	case FRAME_REPLIES: return take_replies(rpc, frame);
	case FRAME_CALLS:
		if (!rpc->on_calls) return SESSION_OVER;
		rpc->on_calls(rpc->serve_user, rpc, frame);
		return FRAME_TAKEN;
	case FRAME_HELLO: break;
	}
	return SESSION_OVER;
}

/* Counts a frame of this session. False: it confirms more than was sent. */
static bool count_frame(struct rpc *rpc, const struct frame *frame)
{
	bool counts = frame->kind == FRAME_CALLS || frame->kind == FRAME_REPLIES;
	if (rpc->state != RPC_UP || !counts || frame->epoch != rpc->epoch) return true;
	return flow_take(&rpc->flow, frame, rpc->packet.bytes.size);
}

static enum arrival take_packet(struct rpc *rpc)
{
	struct frame frame;
	if (channel_recv(rpc->channel, &rpc->packet)) return NOTHING_CAME;
	enum arrival arrival = SESSION_OVER;
	if (!frame_open(rpc->packet.bytes, &rpc->zone, &frame) && count_frame(rpc, &frame))
		arrival = take_frame(rpc, &frame);
	msgpack_zone_clear(&rpc->zone);
	return arrival;
}

/* Reads what arrived before the session ended, then ends it. */
static void drain_and_end(struct rpc *rpc, mono_us now)
{
	for (unsigned i = 0; i < DRAIN_MAX && take_packet(rpc) != NOTHING_CAME; i++)
		continue;
	session_end(rpc, now);
}

static void follow_link(struct rpc *rpc, mono_us now)
{
	enum link link;
	while ((link = channel_link(rpc->channel)) != LINK_SAME) {
		if (link == LINK_UP) {
			rpc->link_is_up = true;
			session_begin(rpc, now);
			continue;
		}
		rpc->link_is_up = false;
		drain_and_end(rpc, now);
	}
}

/* True: the budget ran out or a session ended, so there may be more. Large answers leave time for other work. */
static bool take_packets(struct rpc *rpc, mono_us now, unsigned budget)
{
	const uint64_t begun = rpc->flow.taken;
	for (; budget > 0 && rpc->flow.taken - begun < PUMP_BYTES_MAX; budget--) {
		enum arrival arrival = take_packet(rpc);
		/* Receipts go with the next frame, or in a frame without calls. */
		if (rpc->state == RPC_UP && flow_is_due(&rpc->flow)) send_calls(rpc);
		if (arrival == NOTHING_CAME) return false;
		if (arrival == FRAME_TAKEN) continue;
		drain_and_end(rpc, now);
		return true;
	}
	return true;
}

bool rpc_pump(struct rpc *rpc, mono_us now, unsigned budget)
{
	must(!rpc->open);
	const uint32_t gathered = rpc->out.count;
	if (!rpc->heeds_wakes || now.v >= rpc->look_due.v) rpc->woken = RPC_WAKE_MAIL | RPC_WAKE_LINK;
	const unsigned woken = rpc->woken;
	rpc->woken = 0;
	if (woken & RPC_WAKE_LINK) follow_link(rpc, now);
	/* Before reading: a send may consume the wake-up for what has just arrived. */
	say_hello(rpc, now);
	bool more = (woken & RPC_WAKE_MAIL || channel_has_news(rpc->channel)) &&
	            take_packets(rpc, now, budget);
	if (now.v >= rpc->look_due.v) {
		rpc->look_due = mono_after(now, (dur_us){LOOK_AT_TIMES_MS * US_PER_MS});
		fail_calls(rpc, call_is_overdue, now);
	}
	if (rpc->has_refused) {
		rpc->has_refused = false;
		fail_calls(rpc, call_is_refused, now);
	}
	if (rpc->out.count <= gathered) return more;
	send_gathered(rpc); /* calls made by callbacks would otherwise wait for the next wake-up */
	return true;
}
