#pragma once
#include "actors/rt/mailbox.h"
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
	mono_us            heard;   /* when it last sent anything */
	uint32_t           waiting; /* how many answers it lately waited for at once: the most, fading */
	struct frame_out   out[OUTBOXES];
	struct full_frame *full[OUTBOXES], **full_last[OUTBOXES];
};

struct sessions {
	unsigned        count;
	struct session *rows[SESSIONS_MAX];   /* packed: the first `count` */
	size_t          full_bytes[OUTBOXES]; /* of all full frames: bounds what waits to be sent */
	uint64_t        waiting;              /* of all sessions together */
};

/* The session of a connection, or NULL. */
struct session *session_find(struct sessions *sessions, const struct peer *peer);

/* Makes it, or begins it anew. When there are SESSIONS_MAX a command's goes, else any, the one unheard the longest.
 * Errors: NULL: out of memory. */
struct session *session_open(struct sessions *sessions, const struct peer *peer, mono_us now);
/* A frame of calls came of it, while it waited for so many answers. */
void session_heard(struct sessions *sessions, struct session *session, mono_us now, uint32_t waiting);
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
void sessions_flush(struct sessions *sessions, struct mailbox *mailbox, uint64_t epoch);

/* OUTBOX_LATER becomes OUTBOX_NEXT, which must have been flushed. */
void sessions_turn(struct sessions *sessions);
