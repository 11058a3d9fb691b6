/* What a holder's token opens. There is no API key; the token stands for one, and is judged here once more after http, so
 * that a caller cannot ask for any pass but the token's. */
#include "actors/shard/pass/pass.h"

enum err pass_of_token_bytes(struct request *request, const uint8_t token[TOKEN_BYTES], struct hot_at *pass,
                             struct body *body)
{
	struct account_id account;
	uint32_t          number;
	if (!token_read(&request->facts->tokens, token, &account, &number)) return ERR_RESOURCE_NOT_FOUND;
	if (!account_same(account, request->account->id)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = hot_get(request->view, account, number, pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
	if ((err = pass_body(request, pass, body))) return err;
	return memcmp(body->token, token, TOKEN_BYTES) ? ERR_RESOURCE_NOT_FOUND : OK;
}

enum err pass_of_token(struct request *request, struct span text, struct hot_at *pass, struct body *body)
{
	uint8_t  token[TOKEN_BYTES];
	enum err err = token_text_read(text, token) ? pass_of_token_bytes(request, token, pass, body)
	                                            : ERR_RESOURCE_NOT_FOUND;
	return !err && pass->now.flags & HOT_DELETED ? ERR_PASS_DELETED : err;
}

enum err pass_image_urls(struct request *request, const struct template *template, const struct body *body,
                         struct span urls[PAGE_IMAGES])
{
	struct json *appearance;
	urls[PAGE_IMAGE_LOGO] = template->logo;
	urls[PAGE_IMAGE_BANNER] = template->banner;
	if (!body->appearance.size) return OK;
	enum err err = json_parse(body->appearance, view_arena(request->view), &appearance);
	if (err) return err == ERR_NO_MEMORY ? err : ERR_DAMAGED;
	for (unsigned i = 0; i < PAGE_IMAGES; i++) {
		const struct json *own = json_member(appearance, page_image_names[i]);
		if (own && own->kind == JSON_STRING) urls[i] = own->text;
	}
	return OK;
}
