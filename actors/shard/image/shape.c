/* Shapes of images, which the timer makes for accounts with a wallet. The queue is the table SHAPE_DUE: the timer asks for its
 * next row and goes round. Nothing is leased, since each shard's timer works on one image at a time; one that dies with an
 * image has left the row, and the next timer begins with it. */
#include "actors/shard/command.h"
#include "schemas/api/image.h"
#include "store/image_shape.h"

/* The first row of the next account with one, or a walk. */
static enum err next_account(struct view *view, const struct shape_due *before, struct shape_due *due)
{
	struct shape_due last = {.account = before->account};
	memset(last.hash, 0xff, sizeof last.hash);
	enum err err = shape_due_after(view, &last, due);
	return err == ERR_NOT_FOUND ? shape_due_after(view, NULL, due) : err;
}

/* Where the account's last image was. Two accounts may share a place: then each begins at its first image again. */
static struct shape_place *place_of(struct request *request, struct account_id account)
{
	return &request->shape_places[account_slot(account) % SHAPE_PLACES];
}

/* Accounts take turns, and so do the images of an account: one that stays does not keep the others from theirs. */
static enum err next_of(struct request *request, struct span after, struct shape_due *due)
{
	struct view     *view = request->view;
	struct shape_due before = {.is_walk = false}, further;
	if (!after.size) return shape_due_after(view, NULL, due);
	memcpy(before.account.b, after.at, sizeof before.account);
	struct shape_place *place = place_of(request, before.account);
	place->account = before.account;
	memcpy(place->hash, after.at + sizeof before.account, sizeof place->hash);
	enum err err = next_account(view, &before, due);
	if (err || due->is_walk) return err;
	place = place_of(request, due->account);
	if (!account_same(place->account, due->account)) return OK;
	before.account = due->account;
	memcpy(before.hash, place->hash, sizeof before.hash);
	err = shape_due_after(view, &before, &further);
	if (!err && account_same(further.account, due->account)) *due = further;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* SHAPE_NEXT, by the timer. */
enum err on_SHAPE_NEXT(struct request *request, struct outcome *outcome)
{
	struct shape_due due;
	msgpack_packer   pk = buffer_packer(outcome->payload);
	enum err         err = next_of(request, arg_span(&request->args[ARG_SHAPE_NEXT_after]), &due);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (due.is_walk) {
		msgpack_pack_true(&pk);
		return shapes_walk(request->view, &due);
	}
	msgpack_pack_array(&pk, SHAPE_NEXT_ITEMS);
	pack_bin(&pk, span_of(due.account.b, sizeof due.account));
	pack_bin(&pk, span_of(due.hash, sizeof due.hash));
	msgpack_pack_unsigned_int(&pk, due.wanted);
	msgpack_pack_uint32(&pk, due.size);
	return OK;
}

/* IMAGE_READ, by the timer. On a reader thread, since it may be large. */
enum err on_IMAGE_READ(struct request *request, struct outcome *outcome)
{
	struct image   image = {.size = (uint32_t)arg_integer(&request->args[ARG_IMAGE_READ_size], 0)};
	msgpack_packer pk = buffer_packer(outcome->payload);
	memcpy(image.hash, arg_span(&request->args[ARG_IMAGE_READ_hash]).at, sizeof image.hash);
	msgpack_pack_bin(&pk, image.size);
	return image_bytes(request->view, request->account->id, &image, outcome->payload);
}

/* SHAPE_PUT, by the timer. An image that was removed meanwhile is wanted no more. */
enum err on_SHAPE_PUT(struct request *request, struct outcome *outcome)
{
	const uint8_t   *hash = arg_span(&request->args[ARG_SHAPE_PUT_hash]).at;
	enum shape       shape = (enum shape)arg_integer(&request->args[ARG_SHAPE_PUT_shape], 0);
	struct shape_due due;
	enum err         err = shape_due_get(request->view, request->account->id, hash, &due);
	(void)outcome;
	if (err) return err;
	if (!(due.wanted & SHAPE_BIT(shape))) return ERR_NOT_FOUND;
	return image_shape_put(request->view, request->account->id, hash, shape,
	                       arg_span(&request->args[ARG_SHAPE_PUT_bytes]));
}

/* SHAPE_ENDED, by the timer. */
enum err on_SHAPE_ENDED(struct request *request, struct outcome *outcome)
{
	const uint8_t             *hash = arg_span(&request->args[ARG_SHAPE_ENDED_hash]).at;
	const struct shape_verdict verdict = {
	    .fault = (enum shape_fault)arg_integer(&request->args[ARG_SHAPE_ENDED_fault], 0),
	    .made = (unsigned)arg_integer(&request->args[ARG_SHAPE_ENDED_made], 0) & ~1u};
	(void)outcome;
	if (!verdict.made) return ERR_MALFORMED;
	return shapes_end(request->view, request->account->id, hash, &verdict);
}
