/* GET /p/{token}/{image}: the logo or the banner that the page of the token's pass shows. On a reader thread, and in parts, since
 * it may be large. An image that was never fetched, or is not there whole, is none. */
#include "actors/shard/list/list_out.h"
#include "actors/shard/pass/pass.h"

#include "schemas/api/link.h"
#include "store/image.h"

static enum err find(struct request *request, struct image *image)
{
	const struct msgpack_object *args = request->args;
	const struct template *template;
	struct hot_at   pass;
	struct body     body;
	struct span     urls[PAGE_IMAGES];
	enum page_image which = page_image_of(arg_span(&args[ARG_PASS_IMAGE_image]));
	enum err        err = pass_of_token(request, arg_span(&args[ARG_PASS_IMAGE_token]), &pass, &body);
	if (err || (err = pass_template(request, &pass.now, &template))) return err;
	if (which == PAGE_IMAGES) return ERR_NOT_FOUND;
	if ((err = pass_image_urls(request, template, &body, urls))) return err;
	if (!urls[which].size) return ERR_NOT_FOUND;
	return image_of_url(request->view, request->account->id, urls[which], image);
}

enum err on_PASS_IMAGE(struct request *request, struct outcome *outcome)
{
	struct span    known = arg_span(&request->args[ARG_PASS_IMAGE_known]);
	struct image   image;
	struct buffer  whole = {0};
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = find(request, &image);
	if (err) return err; /* a reader's ERR_NOT_FOUND is returned as ERR_RESOURCE_NOT_FOUND */
	bool is_known = span_equal(known, span_of(image.hash, sizeof image.hash));
	if (!is_known) err = image_bytes(request->view, request->account->id, &image, &whole);
	struct span bytes = buffer_span(&whole);
	if (!err) err = send_front(outcome, &bytes);
	if (err) goto out;
	msgpack_pack_array(&pk, 2);
	pack_bin(&pk, span_of(image.hash, sizeof image.hash));
	if (is_known)
		msgpack_pack_nil(&pk);
	else
		pack_bin(&pk, bytes);
out:
	buffer_free(&whole);
	return err;
}
