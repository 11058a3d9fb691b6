/* Frames are parsed again for a trace; its cost does not matter. Peers of a bound channel are known by their HELLO. A process
 * has one such channel, owned by one thread, and so one set of names. */
#include "actors/rt/trace.h"
#include "actors/rt/log.h"
#include "schemas/frame.h"
#include "schemas/limits.h"
#include "schemas/lines.h"

#include <stdio.h>
#include <stdlib.h>

bool trace_frames;

enum { NAME_TEXT = 48 };

static struct known {
	struct peer peer;
	char        name[NAME_TEXT];
} known[SESSIONS_MAX];
static unsigned known_count; /* ever; the oldest is dropped */

void trace_open(void)
{
	const char *wanted = getenv("STAMPEDE_TRACE");
	trace_frames = wanted && !strcmp(wanted, "frames");
}

static void note_peer(const struct peer *peer, const struct frame *hello)
{
	struct known *place = &known[known_count++ % SESSIONS_MAX];
	place->peer = *peer;
	snprintf(place->name, sizeof place->name, "%s-%u", role_text(hello->role), hello->index);
}

static void name_peer(const struct peer *peer, char name[NAME_TEXT])
{
	for (unsigned i = known_count; i > 0 && i + SESSIONS_MAX > known_count; i--) {
		const struct known *place = &known[(i - 1) % SESSIONS_MAX];
		if (!peer_same(&place->peer, peer)) continue;
		snprintf(name, NAME_TEXT, "%s", place->name);
		return;
	}
	hex_text(peer->id, peer->size, name);
	name[2 * peer->size] = 0;
}

void trace_frame(enum trace_direction direction, const char *callee, const struct peer *peer,
                 struct span bytes)
{
	static const char *const kinds[] = {"malformed", "hello", "welcome", "calls", "replies"};
	struct frame             frame = {.count = 0};
	msgpack_zone             zone;
	char                     name[NAME_TEXT];
	if (!msgpack_zone_init(&zone, 4096)) return;
	bool is_read = !frame_open(bytes, &zone, &frame);
	if (is_read && frame.kind == FRAME_HELLO && !callee && direction == TRACE_RECEIVED)
		note_peer(peer, &frame);
	if (!callee) name_peer(peer, name);
	log_info("frame", "direction=%s kind=%s count=%u bytes=%zu peer=%s",
	         direction == TRACE_SENT ? "sent" : "received", kinds[is_read ? frame.kind : 0], frame.count,
	         bytes.size, callee ? callee : name);
	msgpack_zone_destroy(&zone);
}
