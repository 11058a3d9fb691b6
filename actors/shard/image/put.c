/* IMAGE_PUT, by the timer: a part of an image that it has fetched for the account. */
#include "actors/shard/command.h"
#include "schemas/api/image.h"
#include "store/image.h"

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
