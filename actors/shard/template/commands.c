/* The commands of templates, except put. */
#include "actors/shard/command.h"
#include "actors/shard/list/list_out.h"
#include "actors/shard/rule/rule.h"
#include "schemas/api/template.h"
#include "store/image_use.h"
#include "store/issuing.h"
#include "store/keys.h"
#include "store/template_state.h"

/* template list: the operator's files, each with its id in front, oldest first. */
static void show(struct request *request, uint32_t number, struct span text, struct buffer *out)
{
	char id[TEMPLATE_ID_TEXT];
	template_id_text(request->account->id, number, id);
	size_t begin = bin_begin(out);
	buffer_text(out, "{\"pass_template_id\":\"");
	buffer_text(out, id);
	buffer_text(out, "\",");
	/* The text is "{…}" and has a member at least: a name is required. */
	buffer_append(out, text.at + 1, text.size - 1);
	bin_end(out, begin);
}

enum err on_TEMPLATE_LIST(struct request *request, struct outcome *outcome)
{
	struct row_key  account = key_account(request->account->id);
	struct list_out list;
	struct view_row row;
	struct buffer   room = {0};
	uint32_t        count = 0;
	enum err err = view_parted_from(request->view, TABLE_TEMPLATE, key_span(&account), &room, &row);
	list_begin(&list, outcome);
	while (!err && key_has_prefix(row.key, key_span(&account))) {
		if (row.key.size != account.size + 4 || row.value.size < 2) err = ERR_DAMAGED;
		if (err) break;
		show(request, get_be32(row.key.at + account.size), row.value, list_item(&list));
		count++;
		if (!(err = list_may_go_on(&list, request)))
			err = view_parted_next(request->view, TABLE_TEMPLATE, &room, &row);
	}
	if (!err || err == ERR_NOT_FOUND) err = list_end(&list, count, false);
	list_drop(&list);
	buffer_free(&room);
	return err;
}

/* TEMPLATE_FETCHED, sent by the shard itself: the images of a template have been fetched, or given up. */
enum err on_TEMPLATE_FETCHED(struct request *request, struct outcome *outcome)
{
	uint32_t number = (uint32_t)arg_integer(&request->args[ARG_TEMPLATE_FETCHED_number], 0);
	(void)outcome;
	return template_images_del(request->view, request->account->id, number);
}

/* template delete ACCOUNT ID: deletes a template of which no pass was ever made and that no activation rule names. Deleted and
 * erased passes count, since they are still shown, exported and searched by its fields. Its number is never used again, so
 * that an old id never names another template. */
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

/* Removes the references to its images, and cancels fetching them. */
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
