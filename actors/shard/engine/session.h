#pragma once
#include "actors/rt/channel.h"
#include "actors/shard/engine/window.h"
#include "schemas/frame.h"
#include "schemas/limits.h"

/* The callee's side of sessions: whom this shard has welcomed, and the answers waiting to leave to each.
 * Answers wait in two rows: those that need the record on its way to be durable (or nothing at all), and those
 * that need the open one. The writer thread owns all of it. */
enum outbox { OUTBOX_NEXT, OUTBOX_LATER, OUTBOXES };

/* Frames that are full and wait behind one another; what is being filled stands apart. */
struct full_frame {
	struct buffer      bytes;
	struct full_frame *next;
};

struct session {
	struct peer        peer;
	enum role          role;
	uint32_t           index;
	uint32_t           wants;   /* enum hello_wants */
	mono_us            begun;   /* by its peer's clock, as its HELLO says */
	mono_us            heard;   /* when it last sent anything */
	mono_us            asked;   /* when it was last asked for a receipt */
	uint32_t           waiting; /* how many answers it lately waited for at once: the most, fading */
	struct window     *window;  /* what it has not received yet */
	uint64_t           taken;   /* bytes of frames that came of it */
	struct frame_out   out[OUTBOXES];
	struct full_frame *full[OUTBOXES], **full_last[OUTBOXES];
};

struct sessions {
	unsigned        count;
	struct session *rows[SESSIONS_MAX];   /* packed: the first `count` */
	size_t          full_bytes[OUTBOXES]; /* of all full frames: bounds what waits to be sent */
	uint64_t        waiting;              /* of all sessions together */
	struct windows  windows, command_windows;
	mono_us         look_due; /* for silent ones */
};

/* The session of a connection, or NULL. */
struct session *session_find(struct sessions *sessions, const struct peer *peer);

/* Makes the session that a HELLO asks for; what there was with this connection before ends. When there are SESSIONS_MAX a
 * command's goes, else any, the one unheard the longest. Errors: NULL: out of memory. */
struct session *session_open(struct sessions *sessions, const struct peer *peer, const struct frame *hello,
                             mono_us now);
/* Has a later session of the same process, or of its successor, been welcomed? Such a HELLO was left behind by a
 * process, or a connection, that is no more. Commands have no successors. */
bool sessions_outdate(const struct sessions *sessions, const struct frame *hello);
/* Ends all that `session` has come after. */
void sessions_succeed(struct sessions *sessions, const struct session *session);
/* A frame of so many bytes came of it. false: it claims to have received what was never sent. */
must_check bool session_heard(struct session *session, mono_us now, const struct frame *frame, size_t size);
/* The frame was of calls, while it waited for so many answers. */
void session_waits(struct sessions *sessions, struct session *session, uint32_t waiting);
/* Hands over a whole frame, whose bytes have been counted in its window. Errors: as channel_send(): the session is to end. */
must_check enum err session_send(struct session *session, struct channel *channel, struct buffer *frame);
/* Is there room for an answer of so many bytes? One that is tiny has always room, so has any to the shard itself. */
bool session_fits(const struct session *session, enum window_use use, size_t size);
/* How many commands a record should hold for callers not to wait for each other: while one half's are decided, the
 * other half's answers are read and their next requests come. */
unsigned sessions_share(const struct sessions *sessions);
void     session_close(struct sessions *sessions, struct session *session);
void     sessions_close(struct sessions *sessions);

/* Where the next answer goes: a frame of at least REPLY_PART_BYTES_MAX is put behind the full ones first, so that
 * none outgrows what a peer takes as one message. Errors: NULL: out of memory. */
struct frame_out *session_outbox(struct sessions *sessions, struct session *session, enum outbox box,
                                 uint64_t epoch);

/* Sends every session's OUTBOX_NEXT. A session whose peer is gone, or takes in less than its credit lets it ask
 * for, ends here and its answers with it; the peer then hears of an unknown session and begins anew. */
void sessions_flush(struct sessions *sessions, struct channel *channel, uint64_t epoch);

/* Now and then: asks those that owe receipts and are silent for them. Who is gone shows by that, and ends. */
void sessions_ask(struct sessions *sessions, struct channel *channel, uint64_t epoch, mono_us now);

/* OUTBOX_LATER becomes OUTBOX_NEXT, which must have been flushed. */
void sessions_turn(struct sessions *sessions);
