/* template delete ACCOUNT ID: of a template that no pass was ever made of, and that no activation rule names. Deleted and erased
 * passes are still shown, exported and searched by its fields. Its number is not given again, so that an old id never means
 * another template. */
#include "actors/shard/rule/rule.h"

#include "schemas/api/template.h"
#include "store/image_use.h"
#include "store/issuing.h"
#include "store/keys.h"
#include "store/template_state.h"

static enum err find(struct request *request, uint32_t *number)
{
	enum err err = choose_template(request, &request->args[ARG_TEMPLATE_DELETE_pass_template_id], number);
	bool     is_none = err == ERR_PASS_TEMPLATE_NOT_FOUND || err == ERR_UNAUTHORIZED;
	return is_none ? ERR_RESOURCE_NOT_FOUND : err;
}

static enum err check_unused(struct request *request, struct outcome *outcome, uint32_t number)
{
	enum template_state state;
	struct uuid         rule;
	bool                named;
	enum err            err = template_state_get(request->view, request->account->id, number, &state);
	if (err) return err;
	if (state == TEMPLATE_USED) return refuse(outcome, REASON_OF_ALL(TEMPLATE_USED));
	if ((err = rules_name_template(request, number, &rule, &named)) || !named) return err;
	char *id = msgpack_zone_malloc(request->zone, UUID_TEXT);
	if (!id) return ERR_NO_MEMORY;
	uuid_text(rule, id);
	return refuse(outcome, REASON_OF_ALL(TEMPLATE_NAMED, .given = span_str(id)));
}

/* Its images are referred to no more, and those that are still to be fetched are not. */
static enum err drop_images(struct request *request, uint32_t number)
{
	struct account_id account = request->account->id;
	const struct template *template;
	struct issuing row;
	enum err       err = account_template(request->account, request->view, number, &template);
	if (err) return err;
	struct span urls[IMAGE_USES] = {template->logo, template->banner};
	if ((err = image_urls_move(request->view, account, urls, NULL))) return err;
	err = template_images_get(request->view, account, number, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return template_images_del(request->view, account, number);
}

enum err on_TEMPLATE_DELETE(struct request *request, struct outcome *outcome)
{
	struct account_id account = request->account->id;
	uint32_t          number;
	msgpack_packer    pk = buffer_packer(outcome->payload);
	enum err          err = find(request, &number);
	if (err || (err = check_unused(request, outcome, number))) return err;
	if ((err = drop_images(request, number))) return err;
	struct row_key key = key_u32(account, number);
	if ((err = write_del(view_writes(request->view), TABLE_TEMPLATE, key_span(&key)))) return err;
	if ((err = template_state_put(request->view, account, number, TEMPLATE_DELETED))) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
