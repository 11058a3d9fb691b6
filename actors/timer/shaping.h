#pragma once
#include "actors/rpc/rpc.h"

/* Makes the shapes that wallets need of images (schemas/wallet/shape.h). Each shard is asked for its next image, one at a time;
 * one thread, at a low priority, reduces the images of all shards, so that attempts and fetches never wait for pixels. No state
 * is kept: an image that was not finished stays in the shard's queue.
 *
 *   SHAPE_NEXT ─▶ IMAGE_READ ─▶ the thread ─▶ SHAPE_PUT for each shape ─▶ SHAPE_ENDED ─▶ SHAPE_NEXT
 *
 * The owner closes the thread before the exchanges, whose images it may hold. */
struct shaper;  /* the thread */
struct shaping; /* the exchange with one shard */

/* Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err shaper_open(struct shaper **shaper);
void                shaper_close(struct shaper **shaper);
int                 shaper_fd(const struct shaper *shaper); /* readable when an image is done */
/* Once a turn, before shaping_turn(): takes what is done. */
void shaper_turn(struct shaper *shaper);

/* Errors: ERR_NO_MEMORY. */
must_check enum err shaping_open(struct shaping **shaping, struct rpc *rpc, struct shaper *shaper);
void                shaping_close(struct shaping **shaping);

/* Once a turn, before rpc_flush(). `beat`: a heartbeat is due. */
void shaping_turn(struct shaping *shaping, bool beat);
