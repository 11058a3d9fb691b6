/* One image of each shard at a time. An error ends the work on it; the shard's row stays, and the next heartbeat begins with
 * the row behind it, so that one image that cannot be stored delays no other. */
#include "actors/timer/shaping.h"

#include "actors/rt/time.h"
#include "actors/timer/egress_job.h"
#include "actors/timer/shape.h"
#include "schemas/api/image.h"
#include "schemas/sha256.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NICE = 10 };

enum shaping_state {
	SHAPING_IDLE,    /* the next heartbeat asks */
	SHAPING_ASKED,   /* for the next image */
	SHAPING_READING, /* its bytes */
	SHAPING_MAKING,  /* with the thread */
	SHAPING_MADE,    /* its shapes are to be put */
	SHAPING_PUTTING,
};

struct shaping {
	TAILQ_ENTRY(shaping) in_line; /* of the thread, or of what it has done */
	struct asked       asked;
	struct rpc        *rpc;
	struct shaper     *shaper;
	enum shaping_state state;
	bool               ask_again;
	bool               has_after;
	struct account_id  account;
	uint8_t            hash[SHA256_BYTES];
	unsigned           wanted, left; /* SHAPE_BITs: of the image; still to be put */
	uint32_t           size;
	bool               is_ended; /* SHAPE_ENDED was sent */

	/* The thread's while MAKING. */
	struct buffer    image, shapes[SHAPE_END];
	enum shape_fault fault;
	enum err         err;
};
TAILQ_HEAD(shaping_line, shaping);

struct shaper {
	pthread_t           thread;
	bool                has_thread;
	pthread_mutex_t     mutex; /* of what follows */
	pthread_cond_t      work;
	struct shaping_line line, done;
	bool                stopping;
	int                 fd; /* an eventfd: something is done */
};

/* The thread ---------------------------------------------------------------------------------------------- */

static void tell_done(const struct shaper *shaper)
{
	const uint64_t one = 1;
	(void)!write(shaper->fd, &one,
	             sizeof one); /* it fails only when the counter is full: then it wakes too */
}

static void *shaper_main(void *argument)
{
	struct shaper *shaper = argument;
	setpriority(PRIO_PROCESS, 0, NICE); /* of this thread alone, on Linux */
	pthread_mutex_lock(&shaper->mutex);
	for (;;) {
		struct shaping *next = TAILQ_FIRST(&shaper->line);
		if (shaper->stopping) break;
		if (!next) {
			pthread_cond_wait(&shaper->work, &shaper->mutex);
			continue;
		}
		TAILQ_REMOVE(&shaper->line, next, in_line);
		pthread_mutex_unlock(&shaper->mutex);
		next->err = shapes_make(buffer_span(&next->image), next->wanted, next->shapes, &next->fault);
		pthread_mutex_lock(&shaper->mutex);
		TAILQ_INSERT_TAIL(&shaper->done, next, in_line);
		tell_done(shaper);
	}
	pthread_mutex_unlock(&shaper->mutex);
	return NULL;
}

enum err shaper_open(struct shaper **opened)
{
	struct shaper *shaper = *opened = calloc(1, sizeof *shaper);
	if (!shaper) return ERR_NO_MEMORY;
	TAILQ_INIT(&shaper->line);
	TAILQ_INIT(&shaper->done);
	pthread_mutex_init(&shaper->mutex, NULL);
	pthread_cond_init(&shaper->work, NULL);
	if ((shaper->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) return ERR_IO;
	if (pthread_create(&shaper->thread, NULL, shaper_main, shaper)) return ERR_NO_MEMORY;
	shaper->has_thread = true;
	return OK;
}

void shaper_close(struct shaper **closed)
{
	struct shaper *shaper = *closed;
	*closed = NULL;
	if (!shaper) return;
	pthread_mutex_lock(&shaper->mutex);
	shaper->stopping = true;
	pthread_cond_signal(&shaper->work);
	pthread_mutex_unlock(&shaper->mutex);
	if (shaper->has_thread) pthread_join(shaper->thread, NULL);
	if (shaper->fd >= 0) close(shaper->fd);
	pthread_cond_destroy(&shaper->work);
	pthread_mutex_destroy(&shaper->mutex);
	free(shaper);
}

int shaper_fd(const struct shaper *shaper)
{
	return shaper->fd;
}

void shaper_turn(struct shaper *shaper)
{
	uint64_t        count;
	struct shaping *done;
	if (read(shaper->fd, &count, sizeof count) < 0) return; /* nothing is done */
	pthread_mutex_lock(&shaper->mutex);
	while ((done = TAILQ_FIRST(&shaper->done))) {
		TAILQ_REMOVE(&shaper->done, done, in_line);
		done->state = SHAPING_MADE;
	}
	pthread_mutex_unlock(&shaper->mutex);
}

static void give_to_thread(struct shaping *shaping)
{
	struct shaper *shaper = shaping->shaper;
	shaping->state = SHAPING_MAKING;
	pthread_mutex_lock(&shaper->mutex);
	TAILQ_INSERT_TAIL(&shaper->line, shaping, in_line);
	pthread_cond_signal(&shaper->work);
	pthread_mutex_unlock(&shaper->mutex);
}

/* The exchange -------------------------------------------------------------------------------------------- */

/* Large images come one at a time; their memory is given back. */
static void drop(struct shaping *shaping)
{
	buffer_free(&shaping->image);
	for (unsigned i = 0; i < SHAPE_END; i++)
		buffer_free(&shaping->shapes[i]);
}

/* The next heartbeat, or the next turn, asks for the row behind this one. */
static void rest(struct shaping *shaping, bool at_once)
{
	drop(shaping);
	shaping->state = SHAPING_IDLE;
	shaping->ask_again = at_once;
}

static enum err begin(struct shaping *shaping, enum message message, msgpack_packer *packer)
{
	struct call call = {.message = message,
	                    .deadline = mono_after(time_mono(), (dur_us){CALL_DEADLINE_MS * US_PER_MS}),
	                    .has_account = message != MSG_SHAPE_NEXT,
	                    .account = shaping->account};
	return rpc_begin(shaping->rpc, &call, &shaping->asked, packer);
}

static void ask(struct shaping *shaping)
{
	msgpack_packer packer;
	shaping->ask_again = false;
	if (begin(shaping, MSG_SHAPE_NEXT, &packer)) return; /* the next heartbeat tries again */
	msgpack_pack_array(&packer, ARGS_SHAPE_NEXT);
	if (shaping->has_after) {
		msgpack_pack_bin(&packer, SHAPE_AFTER_BYTES);
		msgpack_pack_bin_body(&packer, shaping->account.b, sizeof shaping->account);
		msgpack_pack_bin_body(&packer, shaping->hash, sizeof shaping->hash);
	} else {
		msgpack_pack_nil(&packer);
	}
	rpc_commit(shaping->rpc);
	shaping->state = SHAPING_ASKED;
}

static bool take_image(struct shaping *shaping, const msgpack_object *payload)
{
	const msgpack_object *items = payload->via.array.ptr;
	if (payload->type != MSGPACK_OBJECT_ARRAY || payload->via.array.size != SHAPE_NEXT_ITEMS)
		return false;
	if (items[0].type != MSGPACK_OBJECT_BIN || items[0].via.bin.size != sizeof shaping->account)
		return false;
	if (items[1].type != MSGPACK_OBJECT_BIN || items[1].via.bin.size != sizeof shaping->hash)
		return false;
	if (items[2].type != MSGPACK_OBJECT_POSITIVE_INTEGER || items[2].via.u64 >= SHAPE_BIT(SHAPE_END))
		return false;
	if (items[3].type != MSGPACK_OBJECT_POSITIVE_INTEGER || items[3].via.u64 > IMAGE_BYTES_MAX)
		return false;
	memcpy(shaping->account.b, items[0].via.bin.ptr, sizeof shaping->account);
	memcpy(shaping->hash, items[1].via.bin.ptr, sizeof shaping->hash);
	shaping->wanted = shaping->left = (unsigned)items[2].via.u64;
	shaping->size = (uint32_t)items[3].via.u64;
	shaping->has_after = true;
	shaping->is_ended = false;
	return true;
}

static void read_image(struct shaping *shaping)
{
	msgpack_packer packer;
	if (begin(shaping, MSG_IMAGE_READ, &packer)) {
		rest(shaping, false);
		return;
	}
	msgpack_pack_array(&packer, ARGS_IMAGE_READ);
	pack_bin(&packer, span_of(shaping->hash, sizeof shaping->hash));
	msgpack_pack_uint32(&packer, shaping->size);
	rpc_commit(shaping->rpc);
	shaping->state = SHAPING_READING;
}

static void on_next(struct shaping *shaping, const msgpack_object *payload)
{
	if (take_image(shaping, payload))
		read_image(shaping);
	else
		rest(shaping, payload->type == MSGPACK_OBJECT_BOOLEAN);
}

static void on_image(struct shaping *shaping, const msgpack_object *payload)
{
	struct span bytes = payload->type == MSGPACK_OBJECT_BIN ? arg_span(payload) : span_of(NULL, 0);
	buffer_append(&shaping->image, bytes.at, bytes.size);
	if (bytes.size != shaping->size || shaping->image.failed)
		rest(shaping, false);
	else
		give_to_thread(shaping);
}

/* Puts the next shape; after the last one reports the end. */
static enum err put(struct shaping *shaping)
{
	msgpack_packer packer;
	unsigned       shape = 1;
	enum err       err;
	while (shape < SHAPE_END && !(shaping->left & SHAPE_BIT(shape)))
		shape++;
	shaping->is_ended = shape == SHAPE_END;
	if ((err = begin(shaping, shaping->is_ended ? MSG_SHAPE_ENDED : MSG_SHAPE_PUT, &packer))) return err;
	msgpack_pack_array(&packer, shaping->is_ended ? ARGS_SHAPE_ENDED : ARGS_SHAPE_PUT);
	pack_bin(&packer, span_of(shaping->hash, sizeof shaping->hash));
	if (shaping->is_ended) {
		msgpack_pack_unsigned_int(&packer, shaping->wanted);
		msgpack_pack_unsigned_int(&packer, shaping->fault);
	} else {
		msgpack_pack_unsigned_int(&packer, shape);
		pack_bin(&packer, buffer_span(&shaping->shapes[shape]));
		shaping->left &= ~SHAPE_BIT(shape);
	}
	rpc_commit(shaping->rpc);
	return OK;
}

static void put_next(struct shaping *shaping)
{
	shaping->state = SHAPING_PUTTING;
	if (put(shaping)) rest(shaping, false);
}

static void on_made(struct shaping *shaping)
{
	if (shaping->fault) shaping->left = 0;
	if (shaping->err)
		rest(shaping, false);
	else
		put_next(shaping);
}

static void on_reply(struct asked *asked, const struct reply *reply)
{
	struct shaping *shaping = (struct shaping *)((char *)asked - offsetof(struct shaping, asked));
	if (reply->err)
		rest(shaping, false);
	else if (shaping->state == SHAPING_ASKED)
		on_next(shaping, reply->payload);
	else if (shaping->state == SHAPING_READING)
		on_image(shaping, reply->payload);
	else if (shaping->is_ended)
		rest(shaping, true);
	else
		put_next(shaping);
}

void shaping_turn(struct shaping *shaping, bool beat)
{
	if (shaping->state == SHAPING_MADE) on_made(shaping);
	if (shaping->state == SHAPING_IDLE && (beat || shaping->ask_again)) ask(shaping);
}

enum err shaping_open(struct shaping **opened, struct rpc *rpc, struct shaper *shaper)
{
	struct shaping *shaping = *opened = calloc(1, sizeof *shaping);
	if (!shaping) return ERR_NO_MEMORY;
	shaping->asked.on_reply = on_reply;
	shaping->rpc = rpc;
	shaping->shaper = shaper;
	return OK;
}

void shaping_close(struct shaping **closed)
{
	struct shaping *shaping = *closed;
	*closed = NULL;
	if (!shaping) return;
	drop(shaping);
	free(shaping);
}
