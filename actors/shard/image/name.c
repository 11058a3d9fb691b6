/* IMAGE_NAME, by the timer: all parts of an image have been put; it is what lies at that URL now. */
#include "actors/shard/command.h"
#include "schemas/api/image.h"
#include "store/image.h"

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
	return image_url_put(request->view, account, arg_span(&args[ARG_IMAGE_NAME_url]), &image);
}
