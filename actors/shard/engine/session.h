#pragma once
#include "actors/rt/channel.h"
#include "actors/shard/engine/window.h"
#include "schemas/frame.h"
#include "schemas/limits.h"

/* The callee's side of sessions: the peers that this shard has welcomed, and the answers that wait for each. OUTBOX_NEXT needs
 * the record that is being synced, or none. OUTBOX_LATER needs the open record. The writer thread owns all of it. */
enum outbox { OUTBOX_NEXT, OUTBOX_LATER, OUTBOXES };

/* A list of full frames; the frame being filled is separate. */
struct full_frame {
	struct buffer      bytes;
	struct full_frame *next;
};

struct session {
	struct peer        peer;
	enum role          role;
	uint32_t           index;
	uint32_t           wants;   /* enum hello_wants */
	mono_us            begun;   /* by the peer's clock, from its HELLO */
	mono_us            heard;   /* when it last sent anything */
	mono_us            asked;   /* when it was last asked for a receipt */
	uint32_t           waiting; /* answers it waited for at once: the recent maximum, fading */
	struct window     *window;  /* answers that it has not received yet */
	uint64_t           taken;   /* bytes of frames received from it */
	struct frame_out   out[OUTBOXES];
	struct full_frame *full[OUTBOXES], **full_last[OUTBOXES];
};

struct sessions {
	unsigned        count;
	struct session *rows[SESSIONS_MAX];   /* packed: the first `count` */
	size_t          full_bytes[OUTBOXES]; /* of all full frames: bounds what waits to be sent */
	uint64_t        waiting;              /* sum over all sessions */
	struct windows  windows, command_windows;
	mono_us         look_due; /* next check for silent sessions */
};

/* The session of a connection, or NULL. */
struct session *session_find(struct sessions *sessions, const struct peer *peer);

/* Opens the session that a HELLO asks for and ends an earlier one of this connection. With SESSIONS_MAX sessions, one is
 * closed: a command line's if there is one, and the longest silent of those. NULL: out of memory. */
struct session *session_open(struct sessions *sessions, const struct peer *peer, const struct frame *hello,
                             mono_us now);
/* Was a later session of the same process or of its successor welcomed? Then the HELLO is a leftover of a dead process or
 * connection. Command lines have no successors. */
bool sessions_outdate(const struct sessions *sessions, const struct frame *hello);
/* Ends all sessions that `session` replaces. */
void sessions_succeed(struct sessions *sessions, const struct session *session);
/* Counts a received frame of `size` bytes. False: the peer claims to have received bytes that were never sent. */
must_check bool session_heard(struct session *session, mono_us now, const struct frame *frame, size_t size);
/* Notes how many answers the sender of a frame of calls waits for. */
void session_waits(struct sessions *sessions, struct session *session, uint32_t waiting);
/* Sends a whole frame, or one of a list, whose bytes are already counted in its window. Errors: as channel_send(); the caller
 * must close the session. */
must_check enum err session_send(struct session *session, struct channel *channel, struct buffer *frame);
must_check enum err session_send_list(struct session *session, struct channel *channel, struct buffer *frame);
/* Is there room for an answer of `size` bytes? Tiny answers, and answers to the shard itself, always fit. */
bool session_fits(const struct session *session, enum window_use use, size_t size);
/* How many commands a record should hold so that callers do not wait for each other. While the commands of one half are
 * decided, the other half reads answers and sends requests. */
unsigned sessions_share(const struct sessions *sessions);
void     session_close(struct sessions *sessions, struct session *session);
void     sessions_close(struct sessions *sessions);

/* The frame for the next answer. A frame of REPLY_PART_BYTES_MAX or more is first moved to the full ones, so that no frame
 * exceeds the size of a message. NULL: out of memory. */
struct frame_out *session_outbox(struct sessions *sessions, struct session *session, enum outbox box,
                                 uint64_t epoch);

/* Sends every session's OUTBOX_NEXT. A session ends here, with its answers, if its peer has gone or receives less than its
 * credit lets it ask for. The peer's next frame is refused as an unknown session, and it opens a new one. */
void sessions_flush(struct sessions *sessions, struct channel *channel, uint64_t epoch);

/* From time to time, asks silent sessions that owe receipts for them. The send fails if the peer has gone, and the session
 * ends. */
void sessions_ask(struct sessions *sessions, struct channel *channel, uint64_t epoch, mono_us now);

/* OUTBOX_LATER becomes OUTBOX_NEXT, which must be flushed. */
void sessions_turn(struct sessions *sessions);
