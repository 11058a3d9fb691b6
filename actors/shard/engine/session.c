/* Sessions of a shard with its peers. There are a few dozen, so lookup is linear. */
#include "actors/shard/engine/session.h"

#include <stdlib.h>

enum {
	WAITING_FADES = 64,           /* frames: each takes this part off the remembered maximum */
	OUTBOX_KEPT_BYTES = 64 << 10, /* memory that an empty outbox keeps */
};

struct session *session_find(struct sessions *sessions, const struct peer *peer)
{
	for (unsigned i = 0; i < sessions->count; i++)
		if (peer_same(&sessions->rows[i]->peer, peer)) return sessions->rows[i];
	return NULL;
}

static void no_full(struct session *session, unsigned box)
{
	session->full[box] = NULL;
	session->full_last[box] = &session->full[box];
}

static void drop_full(struct sessions *sessions, struct session *session, enum outbox box)
{
	struct full_frame *frame = session->full[box];
	sessions->full_bytes[box] -= frame->bytes.size;
	if (!(session->full[box] = frame->next)) no_full(session, box);
	buffer_free(&frame->bytes);
	free(frame);
}

struct frame_out *session_outbox(struct sessions *sessions, struct session *session, enum outbox box,
                                 uint64_t epoch)
{
	struct frame_out *out = &session->out[box];
	if (out->bytes.size < REPLY_PART_BYTES_MAX) return out;
	struct full_frame *full = calloc(1, sizeof *full);
	if (!full || frame_seal_replies(out, epoch).size == 0) {
		free(full);
		return NULL;
	}
	full->bytes = out->bytes;
	*out = (struct frame_out){.count = 0};
	*session->full_last[box] = full;
	session->full_last[box] = &full->next;
	sessions->full_bytes[box] += full->bytes.size;
	return out;
}

static void set_waiting(struct sessions *sessions, struct session *session, uint32_t waiting)
{
	sessions->waiting += waiting - (uint64_t)session->waiting;
	session->waiting = waiting;
}

bool session_heard(struct session *session, mono_us now, const struct frame *frame, size_t size)
{
	session->heard = now;
	session->taken += size;
	return window_received(session->window, frame->taken);
}

void session_waits(struct sessions *sessions, struct session *session, uint32_t waiting)
{
	uint32_t faded = session->waiting - session->waiting / WAITING_FADES;
	set_waiting(sessions, session, waiting > faded ? waiting : faded);
}

unsigned sessions_share(const struct sessions *sessions)
{
	uint64_t half = sessions->waiting / 2;
	if (half < BATCH_COMMANDS_MIN) return BATCH_COMMANDS_MIN;
	return half < BATCH_COMMANDS_MAX ? (unsigned)half : BATCH_COMMANDS_MAX;
}

void session_close(struct sessions *sessions, struct session *session)
{
	for (unsigned i = 0; i < sessions->count; i++) {
		if (sessions->rows[i] != session) continue;
		sessions->rows[i] = sessions->rows[--sessions->count];
		set_waiting(sessions, session, 0);
		window_close(session->window);
		window_leave(&session->window);
		for (unsigned box = 0; box < OUTBOXES; box++) {
			buffer_free(&session->out[box].bytes);
			while (session->full[box])
				drop_full(sessions, session, (enum outbox)box);
		}
		free(session);
		return;
	}
}

void sessions_close(struct sessions *sessions)
{
	while (sessions->count)
		session_close(sessions, sessions->rows[0]);
}

/* Which session is closed for a new one: a command line's first, then the longest silent. A command line never calls again
 * without a HELLO, but calls of a serving process would be refused. */
static struct session *dispensable(const struct sessions *sessions)
{
	struct session *found = sessions->rows[0];
	for (unsigned i = 1; i < sessions->count; i++) {
		struct session *session = sessions->rows[i];
		bool            is_cli = session->role == ROLE_CLI, was_cli = found->role == ROLE_CLI;
		if (is_cli == was_cli ? session->heard.v < found->heard.v : is_cli) found = session;
	}
	return found;
}

/* Command lines that stall take no room from the serving processes. */
static struct windows *windows_of(struct sessions *sessions, enum role role)
{
	if (!sessions->windows.max) { /* set once, because readers look at it later */
		sessions->windows.max = ANSWERS_SHARD_BYTES_MAX;
		sessions->command_windows.max = ANSWERS_COMMANDS_BYTES_MAX;
	}
	return role == ROLE_CLI ? &sessions->command_windows : &sessions->windows;
}

struct session *session_open(struct sessions *sessions, const struct peer *peer, const struct frame *hello,
                             mono_us now)
{
	struct session *session = session_find(sessions, peer);
	if (session) session_close(sessions, session);
	if (sessions->count == SESSIONS_MAX) session_close(sessions, dispensable(sessions));
	if (!(session = calloc(1, sizeof *session))) return NULL;
	if (!(session->window = window_new(windows_of(sessions, hello->role), hello->credit_bytes))) {
		free(session);
		return NULL;
	}
	session->peer = *peer;
	session->role = hello->role;
	session->index = hello->index;
	session->wants = hello->wants;
	session->begun = hello->begun;
	session->heard = session->asked = now;
	for (unsigned box = 0; box < OUTBOXES; box++)
		no_full(session, box);
	sessions->rows[sessions->count++] = session;
	return session;
}

/* Is `session` of the same process, or of an earlier one in the same role and index? Command lines have no successors. */
static bool is_place_of(const struct session *session, enum role role, uint32_t index)
{
	return session->role == role && session->index == index && role != ROLE_CLI;
}

bool sessions_outdate(const struct sessions *sessions, const struct frame *hello)
{
	for (unsigned i = 0; i < sessions->count; i++) {
		const struct session *session = sessions->rows[i];
		if (is_place_of(session, hello->role, hello->index) && session->begun.v > hello->begun.v)
			return true;
	}
	return false;
}

void sessions_succeed(struct sessions *sessions, const struct session *successor)
{
	for (unsigned i = sessions->count; i-- > 0;) {
		struct session *session = sessions->rows[i];
		if (session != successor && is_place_of(session, successor->role, successor->index))
			session_close(sessions, session);
	}
}

bool session_fits(const struct session *session, enum window_use use, size_t size)
{
	return size <= ANSWER_TINY_BYTES || !session->window || window_fits(session->window, use, size);
}

static enum err send_frame(struct session *session, struct channel *channel, struct buffer *frame)
{
	frame_set_taken(frame, session->taken);
	return channel_send(channel, &session->peer, buffer_span(frame));
}

enum err session_send(struct session *session, struct channel *channel, struct buffer *frame)
{
	enum err err = send_frame(session, channel, frame);
	if (!err) window_sent(session->window, frame->size);
	return err;
}

enum err session_send_list(struct session *session, struct channel *channel, struct buffer *frame)
{
	enum err err = send_frame(session, channel, frame);
	if (!err) window_sent_list(session->window, frame->size);
	return err;
}

static void empty_outbox(struct frame_out *out)
{
	frame_clear(out);
	if (out->bytes.capacity > OUTBOX_KEPT_BYTES) buffer_free(&out->bytes);
}

static enum err flush_session(struct sessions *sessions, struct session *session, struct channel *channel,
                              uint64_t epoch)
{
	struct frame_out *out = &session->out[OUTBOX_NEXT];
	enum err          err = OK;
	while (!err && session->full[OUTBOX_NEXT]) {
		err = session_send(session, channel, &session->full[OUTBOX_NEXT]->bytes);
		drop_full(sessions, session, OUTBOX_NEXT);
	}
	if (err || out->count == 0) return err;
	struct span frame = frame_seal_replies(out, epoch);
	err = frame.size ? session_send(session, channel, &out->bytes) : ERR_NO_MEMORY;
	empty_outbox(out);
	return err;
}

void sessions_flush(struct sessions *sessions, struct channel *channel, uint64_t epoch)
{
	for (unsigned i = sessions->count; i-- > 0;) {
		struct session *session = sessions->rows[i];
		if (flush_session(sessions, session, channel, epoch)) session_close(sessions, session);
	}
}

static bool owes_receipt(const struct session *session, mono_us now)
{
	mono_us last = session->heard.v > session->asked.v ? session->heard : session->asked;
	return atomic_load(&session->window->held) && mono_since(now, last).v >= RECEIPT_ASK_MS * US_PER_MS;
}

static enum err ask_for_receipt(struct session *session, struct channel *channel, uint64_t epoch)
{
	struct frame_out out = {.count = 0};
	struct span      frame = frame_seal_replies(&out, epoch);
	window_add(session->window, frame.size);
	enum err err = frame.size ? session_send(session, channel, &out.bytes) : OK;
	buffer_free(&out.bytes);
	return err;
}

void sessions_ask(struct sessions *sessions, struct channel *channel, uint64_t epoch, mono_us now)
{
	if (now.v < sessions->look_due.v) return;
	sessions->look_due = mono_after(now, (dur_us){RECEIPT_ASK_MS / 4 * US_PER_MS});
	for (unsigned i = sessions->count; i-- > 0;) {
		struct session *session = sessions->rows[i];
		if (!owes_receipt(session, now)) continue;
		session->asked = now;
		if (ask_for_receipt(session, channel, epoch)) session_close(sessions, session);
	}
}

void sessions_turn(struct sessions *sessions)
{
	must(sessions->full_bytes[OUTBOX_NEXT] == 0);
	for (unsigned i = 0; i < sessions->count; i++) {
		struct session *session = sessions->rows[i];
		must(session->out[OUTBOX_NEXT].count == 0);
		struct frame_out empty = session->out[OUTBOX_NEXT];
		session->out[OUTBOX_NEXT] = session->out[OUTBOX_LATER];
		session->out[OUTBOX_LATER] = empty;
		if (!session->full[OUTBOX_LATER]) continue;
		session->full[OUTBOX_NEXT] = session->full[OUTBOX_LATER];
		session->full_last[OUTBOX_NEXT] = session->full_last[OUTBOX_LATER];
		no_full(session, OUTBOX_LATER);
	}
	sessions->full_bytes[OUTBOX_NEXT] = sessions->full_bytes[OUTBOX_LATER];
	sessions->full_bytes[OUTBOX_LATER] = 0;
}
