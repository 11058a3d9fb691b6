/* The caller's side of a session.
 *
 *   DOWN --link up--> HELLO --WELCOME--> UP --link down--> DOWN
 *                       ^                 |
 *                       +-- another epoch, or a frame that cannot be read
 *
 * session_begin(), session_up() and session_end() are the only writers of the state. Lifetime of a call:
 * begin (gathered in the frame being filled)
 * -> flush (sent) -> its last reply, the end of the session, or the end of its time, whichever comes first;
 * then its place is given back and `on_reply` hears of it, in this order, so that the callback may call
 * again. A call that nobody wants any more (forgotten) keeps its place and its credit: the callee still works
 * at it. */
#include "actors/ask/ask.h"
#include "actors/ask/calls.h"
#include "actors/ask/flow.h"
#include "schemas/fields.h"
#include "schemas/limits.h"
#include "schemas/msgpack_check.h"

#include <stdlib.h>

enum {
	HELLO_AGAIN_MS = 500,
	LOOK_AT_TIMES_MS = 50, /* how late a call's time may be noticed to be up */
	ZONE_CHUNK_BYTES = 64 * 1024,
	/* A frame this large leaves early. With one call of at most as many items on top it stays within what
	 * the callee takes as one message: no item is smaller than a byte. */
	FRAME_FULL_BYTES = FRAME_NODES_MAX / 2,
	PUMP_BYTES_MAX = 256 << 10, /* of letters in a turn, and the one beyond */
	/* What had arrived when a session ended is read first; credits keep it below this many messages. */
	DRAIN_MAX = SESSION_CREDIT_COMMANDS * 2,
};
_Static_assert(FRAME_FULL_BYTES + SESSION_CREDIT_BYTES < FRAME_BYTES_MAX,
               "a frame may outgrow the transport");

struct ask {
	struct channel *channel;
	enum role       role;
	uint32_t        index;
	uint32_t        wants; /* enum hello_wants */
	ask_reply_fn    on_reply;
	ask_calls_fn    on_calls;
	void           *serve_user;

	struct ask_traffic *traffic; /* NULL: nobody counts */

	enum ask_state state;
	bool           link_is_up;
	mono_us        hello_due; /* while HELLO; no two within HELLO_AGAIN_MS on one connection */
	mono_us        begun;     /* the session; no two of a process begin at once */
	uint64_t       epoch;
	uint32_t       placement_version;
	uint32_t       credit_commands;
	size_t         credit_bytes;

	struct flow          flow;
	struct calls         calls;
	struct frame_out     out;
	uint64_t             frame; /* the number of the frame being filled; those below were sent */
	struct pending_call *open;  /* between begin and commit or abort */
	struct frame_mark    open_mark;
	mono_us              look_due;    /* for calls whose time is up */
	bool                 has_refused; /* some calls wait to be told their refusal */
	bool                 heeds_wakes;
	unsigned             woken; /* ASK_WAKE_..., or'ed */

	struct letter letter;
	msgpack_zone  zone;
	bool          has_zone;
	struct buffer hello;
};

enum err ask_open(struct ask **ask, const char *endpoint, enum role role, uint32_t index,
                  ask_reply_fn on_reply)
{
	enum err    err = ERR_NO_MEMORY;
	struct ask *made = calloc(1, sizeof(*made));
	if (!made) return ERR_NO_MEMORY;
	made->role = role;
	made->index = index;
	made->on_reply = on_reply;
	if (!calls_open(&made->calls, SESSION_CREDIT_COMMANDS)) goto out;
	made->has_zone = msgpack_zone_init(&made->zone, ZONE_CHUNK_BYTES);
	if (!made->has_zone) goto out;
	if ((err = channel_connect(&made->channel, endpoint))) goto out;
	*ask = made;
	made = NULL;
out:
	ask_close(&made);
	return err;
}

void ask_close(struct ask **ask)
{
	struct ask *ended = *ask;
	if (!ended) return;
	letter_close(&ended->letter);
	channel_close(&ended->channel);
	if (ended->has_zone) msgpack_zone_destroy(&ended->zone);
	buffer_free(&ended->hello);
	buffer_free(&ended->out.bytes);
	calls_close(&ended->calls);
	free(ended);
	*ask = NULL;
}

void ask_want(struct ask *ask, unsigned wants)
{
	ask->wants = wants;
}

enum ask_state ask_state(const struct ask *ask)
{
	return ask->state;
}

uint64_t ask_epoch(const struct ask *ask)
{
	return ask->state == ASK_UP ? ask->epoch : 0;
}

uint32_t ask_outstanding(const struct ask *ask)
{
	return ask->calls.outstanding;
}

void ask_count(struct ask *ask, struct ask_traffic *traffic)
{
	ask->traffic = traffic;
}

void ask_heeds_wakes(struct ask *ask)
{
	ask->heeds_wakes = true;
	ask->woken = ASK_WAKE_MAIL | ASK_WAKE_LINK;
}

void ask_woken(struct ask *ask, enum ask_wake what)
{
	ask->woken |= what;
}

int ask_fd(const struct ask *ask)
{
	return channel_fd(ask->channel);
}

int ask_link_fd(const struct ask *ask)
{
	return channel_link_fd(ask->channel);
}

/* ---- the ends of a call ---- */

static void end_call(struct ask *ask, struct pending_call *call, const struct reply *reply)
{
	void *user = call->user;
	bool  wanted = !call->forgotten;
	calls_give_back(&ask->calls, call);
	if (wanted) ask->on_reply(user, reply);
}

static void fail_call(struct ask *ask, struct pending_call *call, enum err err)
{
	static const msgpack_object nil = {.type = MSGPACK_OBJECT_NIL};
	const struct reply          reply = {.id = calls_id(&ask->calls, call), .err = err, .payload = &nil};
	end_call(ask, call, &reply);
}

static bool was_sent(const struct ask *ask, const struct pending_call *call)
{
	return call->frame < ask->frame;
}

/* What is known of a call that will not be answered. */
static enum err fate_of(const struct ask *ask, const struct pending_call *call)
{
	if (call->refusal) return call->refusal;
	return was_sent(ask, call) && call->effect == EFFECT_WRITE ? ERR_OUTCOME_UNKNOWN
	                                                           : ERR_SHARD_UNAVAILABLE;
}

/* ---- calls ---- */

/* Bytes that count against the credit: of calls without an answer, or of what the callee has not received, whichever is
 * more. A callee that stands still keeps what was sent, though the calls' time is up. */
static size_t used_bytes(const struct ask *ask)
{
	struct frame_mark gathered = ask->open ? ask->open_mark : frame_mark(&ask->out);
	size_t            on_their_way = flow_on_its_way(&ask->flow);
	if (gathered.count) on_their_way += gathered.size;
	return on_their_way > ask->calls.outstanding_bytes ? on_their_way : ask->calls.outstanding_bytes;
}

enum err ask_begin(struct ask *ask, struct call *head, void *user, msgpack_packer *packer)
{
	must(!ask->open);
	if (ask->state != ASK_UP) return ERR_SHARD_UNAVAILABLE;
	if (ask->calls.outstanding >= ask->credit_commands) return ERR_OVERLOADED;
	if (used_bytes(ask) >= ask->credit_bytes) return ERR_OVERLOADED;
	/* A full frame that could not leave takes no more: it would outgrow what the callee accepts. */
	if (ask->out.bytes.size >= FRAME_FULL_BYTES) return ERR_OVERLOADED;

	struct pending_call *call = calls_take(&ask->calls);
	call->effect = message_row(head->message)->effect;
	call->deadline = head->deadline;
	call->frame = ask->frame;
	call->user = user;
	head->id = calls_id(&ask->calls, call);
	ask->open = call;
	frame_begin_calls(&ask->out);
	ask->open_mark = frame_mark(&ask->out);
	frame_call(&ask->out, head);
	*packer = frame_out_packer(&ask->out);
	return OK;
}

static enum err send_frame(struct ask *ask, struct buffer *frame)
{
	frame_set_taken(frame, ask->flow.taken);
	enum err err = channel_send(ask->channel, NULL, buffer_span(frame));
	if (!err) flow_sent(&ask->flow, frame->size);
	return err;
}

static void send_calls(struct ask *ask)
{
	struct span frame = frame_seal_calls(&ask->out, ask->epoch, ask->placement_version,
	                                     ask->calls.outstanding);
	if (frame.size == 0 || send_frame(ask, &ask->out.bytes)) return;
	ask->frame++;
	if (ask->traffic && ask->out.count) histogram_add(&ask->traffic->calls, &scale_items, ask->out.count);
	frame_clear(&ask->out);
}

/* Hands the frame to the transport. What it does not take stays gathered: until the next flush, or until the
 * session ends, as it soon will if nobody is connected. */
static void send_gathered(struct ask *ask)
{
	if (ask->state == ASK_UP && ask->out.count) send_calls(ask);
}

/* Now that its size is known: may the open call leave? */
static enum err open_admitted(const struct ask *ask)
{
	if (ask->out.bytes.failed) return ERR_OVERLOADED;
	struct span call = span_of(ask->out.bytes.at + ask->open_mark.size,
	                           ask->out.bytes.size - ask->open_mark.size);
	if (call.size > ask->credit_bytes) return ERR_PAYLOAD_TOO_LARGE;
	if (call.size > ask->credit_bytes - used_bytes(ask)) return ERR_OVERLOADED;
	/* Only a large call can have too many items; in its frame it stands two containers deep. */
	if (call.size > FRAME_FULL_BYTES && msgpack_check(call, FRAME_DEPTH_MAX - 2, FRAME_NODES_MAX / 2))
		return ERR_PAYLOAD_TOO_LARGE;
	return OK;
}

void ask_commit(struct ask *ask)
{
	struct pending_call *call = ask->open;
	must(call != NULL);
	call->refusal = open_admitted(ask);
	ask->open = NULL;
	if (call->refusal) {
		frame_drop(&ask->out, ask->open_mark);
		ask->has_refused = true;
		return;
	}
	calls_count_bytes(&ask->calls, call, ask->out.bytes.size - ask->open_mark.size);
	if (ask->out.bytes.size >= FRAME_FULL_BYTES || ask->out.count >= FRAME_CALLS_FULL) send_gathered(ask);
}

void ask_abort(struct ask *ask)
{
	must(ask->open != NULL);
	frame_drop(&ask->out, ask->open_mark);
	calls_give_back(&ask->calls, ask->open);
	ask->open = NULL;
}

void ask_forget(struct ask *ask, uint64_t id)
{
	struct pending_call *call = calls_find(&ask->calls, id);
	if (call) call->forgotten = true;
}

void ask_extend(struct ask *ask, uint64_t id, mono_us deadline)
{
	struct pending_call *call = calls_find(&ask->calls, id);
	if (call) call->deadline = deadline;
}

void ask_flush(struct ask *ask, mono_us now)
{
	(void)now; /* part of every once-a-turn function; sending depends on no time so far */
	must(!ask->open);
	send_gathered(ask);
}

bool ask_waiting(struct ask *ask)
{
	return channel_waiting(ask->channel);
}

void ask_serve(struct ask *ask, ask_calls_fn on_calls, void *user)
{
	ask->on_calls = on_calls;
	ask->serve_user = user;
}

enum err ask_answer(struct ask *ask, struct frame_out *replies, uint64_t epoch)
{
	if (frame_seal_replies(replies, epoch).size == 0) return ERR_NO_MEMORY;
	return send_frame(ask, &replies->bytes);
}

/* ---- the session ---- */

/* Ends every call that `is_over` picks, with what is known of its fate. */
static void fail_calls(struct ask *ask, bool (*is_over)(const struct pending_call *call, mono_us now),
                       mono_us     now)
{
	if (ask->calls.outstanding == 0) return;
	for (uint32_t i = 0; i < ask->calls.place_count; i++) {
		struct pending_call *call = &ask->calls.places[i];
		if (call->taken && is_over(call, now)) fail_call(ask, call, fate_of(ask, call));
	}
}

static void session_begin(struct ask *ask, mono_us now)
{
	ask->state = ASK_HELLO;
	ask->hello_due = now;
	ask->begun = now.v > ask->begun.v ? now : mono_after(ask->begun, (dur_us){1});
}

static void session_up(struct ask *ask, const struct frame *welcome)
{
	ask->state = ASK_UP;
	ask->flow = (struct flow){0};
	ask->epoch = welcome->epoch;
	ask->placement_version = welcome->placement_version;
	ask->credit_commands = welcome->credit_commands < ask->calls.place_count ? welcome->credit_commands
	                                                                         : ask->calls.place_count;
	ask->credit_bytes = welcome->credit_bytes < SESSION_CREDIT_BYTES ? welcome->credit_bytes
	                                                                 : SESSION_CREDIT_BYTES;
}

static void session_end(struct ask *ask, mono_us now)
{
	ask->state = ASK_DOWN;
	if (ask->link_is_up) session_begin(ask, now);
	frame_clear(&ask->out);
	fail_calls(ask, call_is_any, now);
	ask->has_refused = false;
}

static void say_hello(struct ask *ask, mono_us now)
{
	const struct frame hello = {.role = ask->role,
	                            .index = ask->index,
	                            .wants = ask->wants,
	                            .begun = ask->begun,
	                            .credit_bytes = SESSION_ANSWER_BYTES};
	if (ask->state != ASK_HELLO || now.v < ask->hello_due.v) return;
	buffer_clear(&ask->hello);
	frame_hello(&ask->hello, &hello);
	/* Not taken, though the link is up: the transport is about to say that it is down again. */
	if (ask->hello.failed || channel_send(ask->channel, NULL, buffer_span(&ask->hello))) return;
	ask->hello_due = mono_after(now, (dur_us){HELLO_AGAIN_MS * US_PER_MS});
}

/* ---- what arrives ---- */

enum arrival { NOTHING_CAME, FRAME_TAKEN, SESSION_OVER };

static void take_reply(struct ask *ask, const struct reply *reply)
{
	struct pending_call *call = calls_find(&ask->calls, reply->id);
	if (!call || call->refusal) return;
	if (!(reply->flags & REPLY_MORE))
		end_call(ask, call, reply);
	else if (!call->forgotten)
		ask->on_reply(call->user, reply);
}

/* Every reply that can be read counts, also in a frame of another epoch: the callee says so of this very
 * call. */
static enum arrival take_replies(struct ask *ask, const struct frame *frame)
{
	enum arrival arrival = FRAME_TAKEN;
	if (ask->traffic && frame->count) histogram_add(&ask->traffic->replies, &scale_items, frame->count);
	for (uint32_t i = 0; i < frame->count; i++) {
		struct reply reply;
		if (reply_open(&frame->items[i], &reply))
			arrival = SESSION_OVER;
		else
			take_reply(ask, &reply);
	}
	return ask->state == ASK_UP && frame->epoch != ask->epoch ? SESSION_OVER : arrival;
}

static enum arrival take_frame(struct ask *ask, const struct frame *frame)
{
	switch (frame->kind) {
	case FRAME_WELCOME:
		/* A second HELLO is welcomed a second time; a WELCOME to an earlier session is none to this. */
		if (frame->begun.v != ask->begun.v) return FRAME_TAKEN;
		if (ask->state == ASK_HELLO) session_up(ask, frame);
		return ask->state == ASK_UP && frame->epoch != ask->epoch ? SESSION_OVER : FRAME_TAKEN;
	case FRAME_REPLIES: return take_replies(ask, frame);
	case FRAME_CALLS:
		if (!ask->on_calls) return SESSION_OVER;
		ask->on_calls(ask->serve_user, ask, frame);
		return FRAME_TAKEN;
	case FRAME_HELLO: break;
	}
	return SESSION_OVER;
}

/* Counts a frame of this session. false: it tells of more than was sent. */
static bool count_frame(struct ask *ask, const struct frame *frame)
{
	bool counts = frame->kind == FRAME_CALLS || frame->kind == FRAME_REPLIES;
	if (ask->state != ASK_UP || !counts || frame->epoch != ask->epoch) return true;
	return flow_take(&ask->flow, frame, ask->letter.bytes.size);
}

static enum arrival take_letter(struct ask *ask)
{
	struct frame frame;
	if (channel_recv(ask->channel, &ask->letter)) return NOTHING_CAME;
	enum arrival arrival = SESSION_OVER;
	if (!frame_open(ask->letter.bytes, &ask->zone, &frame) && count_frame(ask, &frame))
		arrival = take_frame(ask, &frame);
	msgpack_zone_clear(&ask->zone);
	return arrival;
}

/* Reads what had arrived before the session was over, then ends it. */
static void drain_and_end(struct ask *ask, mono_us now)
{
	for (unsigned i = 0; i < DRAIN_MAX && take_letter(ask) != NOTHING_CAME; i++)
		continue;
	session_end(ask, now);
}

static void follow_link(struct ask *ask, mono_us now)
{
	enum link link;
	while ((link = channel_link(ask->channel)) != LINK_SAME) {
		if (link == LINK_UP) {
			ask->link_is_up = true;
			session_begin(ask, now);
			continue;
		}
		ask->link_is_up = false;
		drain_and_end(ask, now);
	}
}

/* true when the budget ran out first, or a session ended: there may be more. Large answers leave time for what else came. */
static bool take_letters(struct ask *ask, mono_us now, unsigned budget)
{
	const uint64_t begun = ask->flow.taken;
	for (; budget > 0 && ask->flow.taken - begun < PUMP_BYTES_MAX; budget--) {
		enum arrival arrival = take_letter(ask);
		/* The callee hears what was received with what is to be sent anyway, or by a frame of no calls. */
		if (ask->state == ASK_UP && flow_is_due(&ask->flow)) send_calls(ask);
		if (arrival == NOTHING_CAME) return false;
		if (arrival == FRAME_TAKEN) continue;
		drain_and_end(ask, now);
		return true;
	}
	return true;
}

bool ask_pump(struct ask *ask, mono_us now, unsigned budget)
{
	must(!ask->open);
	const uint32_t gathered = ask->out.count;
	if (!ask->heeds_wakes || now.v >= ask->look_due.v) ask->woken = ASK_WAKE_MAIL | ASK_WAKE_LINK;
	const unsigned woken = ask->woken;
	ask->woken = 0;
	if (woken & ASK_WAKE_LINK) follow_link(ask, now);
	/* Before reading: a send may swallow the wake-up for what has just arrived. */
	say_hello(ask, now);
	bool more = (woken & ASK_WAKE_MAIL || channel_has_news(ask->channel)) &&
	            take_letters(ask, now, budget);
	if (now.v >= ask->look_due.v) {
		ask->look_due = mono_after(now, (dur_us){LOOK_AT_TIMES_MS * US_PER_MS});
		fail_calls(ask, call_is_overdue, now);
	}
	if (ask->has_refused) {
		ask->has_refused = false;
		fail_calls(ask, call_is_refused, now);
	}
	if (ask->out.count <= gathered) return more;
	send_gathered(ask); /* calls made by callbacks: nobody would flush them before the next wake-up */
	return true;
}
