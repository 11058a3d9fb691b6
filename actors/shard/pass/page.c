/* GET /p/{token}: the pass as its holder sees it. Holders are not to suffer for what the account owes: it works while that
 * is suspended, and does not count towards its rate. */
#include "actors/shard/pass/pass.h"
#include "actors/shard/wallet/wallet.h"

#include "schemas/api/link.h"
#include "schemas/pass_view.h"
#include "store/image.h"

static void list_fields(const struct template *template, struct pass_view *shown)
{
	shown->field_count = shown->counter = template->field_count;
	for (unsigned i = 0; i < template->field_count; i++) {
		const struct template_field *field = &template->fields[i];
		shown->fields[i] = (struct pass_view_field){field->key, field->label, field->kind};
		if (field == template->counter) shown->counter = i;
	}
}

/* An image is shown if it lies here: pages never wait for one. */
static enum err measure_images(struct request    *request, const struct template *template,
                               const struct body *body, struct pass_view *shown)
{
	struct span urls[PAGE_IMAGES];
	enum err    err = pass_image_urls(request, template, body, urls);
	for (unsigned i = 0; !err && i < PAGE_IMAGES; i++) {
		struct image image;
		if (!urls[i].size) continue;
		err = image_of_url(request->view, request->account->id, urls[i], &image);
		if (!err) {
			shown->images[i].width = image.width;
			shown->images[i].height = image.height;
		}
		if (err == ERR_NOT_FOUND) err = OK;
	}
	return err;
}

/* Which wallets the page offers: those that are switched on and whose credential has not ended. */
static enum err list_wallets(struct request *request, struct pass_view *shown)
{
	for (unsigned kind = WALLET_APPLE; kind < WALLET_KIND_END; kind++) {
		struct wallet_credential credential;
		if (!wallet_is_on(&request->account->row, (enum wallet_kind)kind)) continue;
		enum err err = wallet_credential_now(request->view, request->account->id,
		                                     (enum wallet_kind)kind, &credential);
		if (err && err != ERR_NOT_FOUND) return err;
		if (!err && !wallet_credential_ended(&credential, request->now))
			shown->wallets |= WALLET_BIT(kind);
	}
	return OK;
}

enum err on_PASS_PAGE(struct request *request, struct outcome *outcome)
{
	struct hot_at pass;
	struct body   body;
	const struct template *template;
	enum err err = pass_of_token(request, arg_span(&request->args[ARG_PASS_PAGE_token]), &pass, &body);
	if (err) return err;
	if ((err = pass_template(request, &pass.now, &template))) return err;
	struct pass_view shown = {.status = pass.now.status,
	                          .balance = pass.now.balance,
	                          .name = template->name,
	                          .title = template->title,
	                          .background_color = template->background_color,
	                          .appearance = body.appearance,
	                          .visible = body.visible,
	                          .may_be_put = pass_may_be_put(&pass.now),
	                          .qr_value = template->qr ? body.pass_id : span_of(NULL, 0)};
	list_fields(template, &shown);
	if ((err = measure_images(request, template, &body, &shown))) return err;
	if ((err = list_wallets(request, &shown))) return err;
	pass_view_pack(&shown, outcome->payload);
	return OK;
}
