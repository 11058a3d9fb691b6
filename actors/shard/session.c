/* Sessions of a shard with its peers. There are a few dozen, so a walk finds one. */
#include "actors/shard/session.h"

#include <stdlib.h>

static bool same_peer(const struct peer *a, const struct peer *b)
{
	return a->size == b->size && memcmp(a->id, b->id, a->size) == 0;
}

struct session *session_find(struct sessions *sessions, const struct peer *peer)
{
	for (unsigned i = 0; i < sessions->count; i++)
		if (same_peer(&sessions->rows[i]->peer, peer)) return sessions->rows[i];
	return NULL;
}

void session_close(struct sessions *sessions, struct session *session)
{
	for (unsigned i = 0; i < sessions->count; i++) {
		if (sessions->rows[i] != session) continue;
		sessions->rows[i] = sessions->rows[--sessions->count];
		for (unsigned box = 0; box < OUTBOXES; box++)
			buffer_free(&session->out[box].bytes);
		free(session);
		return;
	}
}

void sessions_close(struct sessions *sessions)
{
	while (sessions->count)
		session_close(sessions, sessions->rows[0]);
}

struct session *session_open(struct sessions *sessions, const struct peer *peer, mono_us now)
{
	struct session *session = session_find(sessions, peer);
	if (!session) {
		if (sessions->count == SESSIONS_MAX) {
			struct session *oldest = sessions->rows[0];
			for (unsigned i = 1; i < sessions->count; i++)
				if (sessions->rows[i]->heard.v < oldest->heard.v) oldest = sessions->rows[i];
			session_close(sessions, oldest);
		}
		if (!(session = calloc(1, sizeof *session))) return NULL;
		session->peer = *peer;
		sessions->rows[sessions->count++] = session;
	}
	session->heard = now;
	return session;
}

void sessions_flush(struct sessions *sessions, struct mailbox *mailbox, uint64_t epoch)
{
	for (unsigned i = sessions->count; i-- > 0;) {
		struct session   *session = sessions->rows[i];
		struct frame_out *out = &session->out[OUTBOX_NEXT];
		if (out->count == 0) continue;
		struct span frame = frame_seal_replies(out, epoch);
		if (frame.size == 0 || mailbox_send(mailbox, &session->peer, frame))
			session_close(sessions, session);
		else
			frame_clear(out);
	}
}

void sessions_turn(struct sessions *sessions)
{
	for (unsigned i = 0; i < sessions->count; i++) {
		struct session *session = sessions->rows[i];
		must(session->out[OUTBOX_NEXT].count == 0);
		if (session->out[OUTBOX_LATER].count == 0) continue;
		struct frame_out empty = session->out[OUTBOX_NEXT];
		session->out[OUTBOX_NEXT] = session->out[OUTBOX_LATER];
		session->out[OUTBOX_LATER] = empty;
	}
}
