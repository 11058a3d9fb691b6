/* The engine's surroundings as two queues. These functions are linked into the program and replace the
 * library's: all of them must be here, or none. */
#include "tests/fuzz/post.h"

#include "actors/rt/log.h"
#include "actors/rt/random.h"
#include "actors/rt/time.h"

#include <errno.h>
#include <stdlib.h>

struct posted {
	struct peer    peer;
	struct buffer  bytes;
	struct posted *next;
};
struct queue {
	struct posted *first, *last;
};

static struct queue   in, out;
static struct posted *taken; /* set by post_out() */
static uint64_t       random_state;

static void put(struct queue *queue, const struct peer *peer, struct span bytes)
{
	struct posted *message = calloc(1, sizeof *message);
	must(message);
	message->peer = *peer;
	buffer_append(&message->bytes, bytes.at, bytes.size);
	if (queue->last)
		queue->last->next = message;
	else
		queue->first = message;
	queue->last = message;
}

static struct posted *take(struct queue *queue)
{
	struct posted *message = queue->first;
	if (!message) return NULL;
	queue->first = message->next;
	if (!queue->first) queue->last = NULL;
	return message;
}

static void drop(struct posted **message)
{
	if (!*message) return;
	buffer_free(&(*message)->bytes);
	free(*message);
	*message = NULL;
}

void post_reset(void)
{
	struct posted *message;
	while ((message = take(&in)) || (message = take(&out)))
		drop(&message);
	drop(&taken);
	random_state = 0;
}

void post_in(const struct peer *from, struct span bytes)
{
	put(&in, from, bytes);
}

bool post_out(struct peer *to, struct span *bytes)
{
	drop(&taken);
	if (!(taken = take(&out))) return false;
	*to = taken->peer;
	*bytes = buffer_span(&taken->bytes);
	return true;
}

/* actors/rt/channel.h ------------------------------------------------------------------------------------- */

enum err channel_bind(struct channel **channel, const char *endpoint)
{
	(void)channel, (void)endpoint;
	return ERR_IO;
}

enum err channel_connect(struct channel **channel, const char *endpoint)
{
	(void)channel, (void)endpoint;
	return ERR_IO;
}

void channel_close(struct channel **channel)
{
	(void)channel;
}

int channel_fd(const struct channel *channel)
{
	(void)channel;
	return -1;
}

bool channel_waiting(struct channel *channel)
{
	(void)channel;
	return in.first != NULL;
}

bool channel_has_news(struct channel *channel)
{
	return channel_waiting(channel); /* there is no descriptor that could be readable */
}

enum err channel_send(struct channel *channel, const struct peer *to, struct span bytes)
{
	(void)channel;
	put(&out, to, bytes);
	return OK;
}

enum err channel_recv(struct channel *channel, struct packet *packet)
{
	(void)channel;
	struct posted *message = take(&in);
	if (!message) return ERR_WOULD_BLOCK;
	packet_close(packet);
	packet->from = message->peer;
	packet->bytes = buffer_span(&message->bytes);
	packet->hold = message;
	return OK;
}

void packet_close(struct packet *packet)
{
	struct posted *message = packet->hold;
	drop(&message);
	packet->hold = NULL;
}

enum link channel_link(struct channel *channel)
{
	(void)channel;
	return LINK_SAME;
}

int channel_link_fd(const struct channel *channel)
{
	(void)channel;
	return -1;
}

/* actors/rt/time.h ---------------------------------------------------------------------------------------- */

static mono_us now;

void post_set_time(mono_us time)
{
	now = time;
}

wall_us time_wall(void)
{
	return (wall_us){now.v};
}

mono_us time_mono(void)
{
	return now;
}

dur_us time_thread(void)
{
	return (dur_us){0};
}

dur_us time_boot(void)
{
	return (dur_us){now.v};
}

/* actors/rt/random.h -------------------------------------------------------------------------------------- */

void random_take(struct random_pool *pool, void *to, size_t size)
{
	uint8_t *at = to;
	(void)pool;
	for (size_t i = 0; i < size; i++) {
		random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
		at[i] = (uint8_t)(random_state >> 56);
	}
}

/* actors/rt/log.h ----------------------------------------------------------------------------------------- */

void log_open(enum role role, int index, const struct log_options *options)
{
	(void)role, (void)index, (void)options;
}

void log_info(const char *event, const char *format, ...)
{
	(void)event, (void)format;
}

void log_warn(const char *event, const char *format, ...)
{
	(void)event, (void)format; /* of malformed frames, which are sent on purpose */
}

void log_fatal(const char *event, const char *format, ...)
{
	(void)format;
	must_failed(event, __FILE__, __LINE__);
}

/* The disk --------------------------------------------------------------------------------------------------- */

/* Space is not reserved: in memory, where the tests' directories are, that takes longer than everything
 * else. */
int __wrap_fallocate64(int fd, int mode, off_t at, off_t size);
int __wrap_fallocate64(int fd, int mode, off_t at, off_t size)
{
	(void)fd, (void)mode, (void)at, (void)size;
	errno = EOPNOTSUPP;
	return -1;
}
