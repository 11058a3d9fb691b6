/* How fast a client sends or receives. A single deadline would cut off large honest transfers, or let one byte a second hold
 * megabytes. So a minimum must move in every window.
 *
 * The progress of an answer is what the client's side has acknowledged. What the kernel accepted only shows its buffers. */
#include "http/pace.h"
#include "schemas/limits.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

void pace_begin(struct pace *pace, mono_us now, uint64_t bytes)
{
	*pace = (struct pace){.since = now, .bytes = bytes, .moved = now, .last = bytes};
}

void pace_forgive(struct pace *pace, dur_us away, mono_us now)
{
	if (!pace->since.v) return;
	pace->since = mono_sooner(mono_after(pace->since, away), now);
	pace->moved = mono_sooner(mono_after(pace->moved, away), now);
}

bool pace_holds(struct pace *pace, mono_us now, uint64_t bytes)
{
	if (bytes != pace->last) pace->moved = now;
	pace->last = bytes;
	if (mono_since(now, pace->since).v < PACE_MS * US_PER_MS) return true;
	bool enough = bytes - pace->bytes >= PACE_BYTES;
	pace->since = now;
	pace->bytes = bytes;
	return enough;
}

bool pace_holds_pressed(struct pace *pace, mono_us now, uint64_t bytes, bool pressed)
{
	bool holds = pace_holds(pace, now, bytes);
	return holds && !(pressed && mono_since(now, pace->moved).v > EVICT_AFTER_MS * US_PER_MS);
}

bool pace_is_slow(const struct pace *pace, mono_us now, int64_t after_ms)
{
	int64_t  waited_ms = mono_since(now, pace->since).v / US_PER_MS;
	uint64_t moved = pace->last - pace->bytes;
	if (mono_since(now, pace->moved).v > after_ms * US_PER_MS) return true;
	return waited_ms > after_ms && moved * PACE_MS < (uint64_t)waited_ms * PACE_BYTES;
}

bool pace_presses(uint64_t held, size_t bytes)
{
	return held > ANSWERS_BYTES_MAX / 2 && bytes > ANSWER_SMALL_BYTES;
}

uint64_t pace_acknowledged(int fd)
{
	struct tcp_info info = {0};
	socklen_t       size = sizeof info;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size)) return 0;
	return info.tcpi_bytes_acked;
}
