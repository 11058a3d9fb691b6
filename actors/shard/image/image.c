/* Images, as the timer brings them. */
#include "actors/shard/wallet/pictures.h"
#include "schemas/api/image.h"
#include "schemas/sha256.h"
#include "store/image_shape.h"
#include "store/image_use.h"

/* IMAGE_PUT, by the timer: a part of an image that it has fetched for the account. */
enum err on_IMAGE_PUT(struct request *request, struct outcome *outcome)
{
	struct span    hash = arg_span(&request->args[ARG_IMAGE_PUT_hash]);
	struct span    bytes = arg_span(&request->args[ARG_IMAGE_PUT_bytes]);
	const unsigned part = (unsigned)arg_integer(&request->args[ARG_IMAGE_PUT_part], 0);
	const wall_us  until = {request->now.v + IMAGE_UNNAMED_S * US_PER_SEC};
	(void)outcome;
	enum err err = image_keep(request->view, request->account->id, hash.at, until);
	if (err) return err;
	return image_part_put(request->view, request->account->id, hash.at, part, bytes);
}

/* Of an image that has arrived, if the account has a wallet. */
static enum err want_shapes(struct request *request, struct span url, const struct image *image)
{
	uint8_t  hash[SHA256_BYTES];
	unsigned roles;
	bool     wanted;
	enum err err = pictures_are_wanted(request, &wanted);
	if (err || !wanted) return err;
	sha256_of(&url, 1, hash);
	if ((err = image_use_roles(request->view, request->account->id, hash, &roles))) return err;
	return roles ? shapes_want(request->view, request->account->id, image, roles) : OK;
}

/* IMAGE_NAME, by the timer: all parts of an image have been put; it is what lies at that URL now. */
enum err on_IMAGE_NAME(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct account_id     account = request->account->id;
	struct buffer         bytes = {0};
	struct image          image = {.size = (uint32_t)arg_integer(&args[ARG_IMAGE_NAME_size], 0),
	                               .width = (uint32_t)arg_integer(&args[ARG_IMAGE_NAME_width], 0),
	                               .height = (uint32_t)arg_integer(&args[ARG_IMAGE_NAME_height], 0),
	                               .fetched = request->now};
	memcpy(image.hash, arg_span(&args[ARG_IMAGE_NAME_hash]).at, sizeof image.hash);
	(void)outcome;
	enum err err = image_bytes(request->view, account, &image, &bytes);
	buffer_free(&bytes);
	if (err) return err;
	struct span url = arg_span(&args[ARG_IMAGE_NAME_url]);
	err = image_url_put(request->view, account, url, &image);
	return err ? err : want_shapes(request, url, &image);
}
