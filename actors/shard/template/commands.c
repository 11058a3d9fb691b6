/* The commands of templates, except put. */
#include "actors/shard/command.h"
#include "actors/shard/list/list_out.h"
#include "actors/shard/rule/rule.h"
#include "actors/shard/wallet/pictures.h"
#include "actors/shard/wallet/touch.h"
#include "schemas/api/template.h"
#include "store/image_use.h"
#include "store/issuing.h"
#include "store/keys.h"
#include "store/template_row.h"
#include "store/template_state.h"
#include "store/wallet_class.h"

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

static enum err show_unless_retired(struct request *request, const struct view_row *row,
                                    struct list_out *list)
{
	struct template_use use;
	struct template_row template;
	uint32_t number = get_be32(row->key.at + sizeof request->account->id);
	enum err err = template_use_get(request->view, request->account->id, number, &use);
	if (err || use.state == TEMPLATE_RETIRED) return err;
	if ((err = template_row_read(row->value, &template))) return err;
	show(request, number, template.text, list_item(list));
	return list_may_go_on(list, request);
}

enum err on_TEMPLATE_LIST(struct request *request, struct outcome *outcome)
{
	struct row_key  account = key_account(request->account->id);
	struct list_out list;
	struct view_row row;
	struct buffer   room = {0};
	enum err err = view_parted_from(request->view, TABLE_TEMPLATE, key_span(&account), &room, &row);
	list_begin(&list, outcome);
	while (!err && key_has_prefix(row.key, key_span(&account))) {
		if (row.key.size != account.size + 4) err = ERR_DAMAGED;
		if (err) break;
		if (!(err = show_unless_retired(request, &row, &list)))
			err = view_parted_next(request->view, TABLE_TEMPLATE, &room, &row);
	}
	if (!err || err == ERR_NOT_FOUND) err = list_end(&list, 0, false); /* neither is in the response */
	list_drop(&list);
	buffer_free(&room);
	return err;
}

/* TEMPLATE_FETCHED, sent by the shard itself. Phones that asked before have passes without these images. */
enum err on_TEMPLATE_FETCHED(struct request *request, struct outcome *outcome)
{
	uint32_t number = (uint32_t)arg_integer(&request->args[ARG_TEMPLATE_FETCHED_number], 0);
	bool     is_partly = arg_boolean(&request->args[ARG_TEMPLATE_FETCHED_partly], false);
	bool     wanted = false;
	enum err err = pictures_are_wanted(request, &wanted);
	(void)outcome;
	if (!err && !is_partly) err = template_images_del(request->view, request->account->id, number);
	return err || !wanted ? err : wallet_touch_template(request, number);
}

/* template delete ACCOUNT ID: deletes a template that no pass uses, except deleted ones, and that no activation rule names.
 * Deleted passes are still shown, exported and searched by its fields, so where there are any it is retired: its text and its
 * images stay, and nothing else can use it. Its number is never used again, so that an old id never names another template. */
static enum err find(struct request *request, uint32_t *number)
{
	enum err err = choose_template(request, &request->args[ARG_TEMPLATE_DELETE_pass_template_id], number);
	bool     is_none = err == ERR_PASS_TEMPLATE_NOT_FOUND || err == ERR_UNAUTHORIZED;
	return is_none ? ERR_RESOURCE_NOT_FOUND : err;
}

static enum err check_unused(struct request *request, struct outcome *outcome, uint32_t number,
                             struct template_use *use)
{
	struct uuid rule;
	bool        named;
	enum err    err = template_use_get(request->view, request->account->id, number, use);
	if (err) return err;
	if (use->passes) return refuse(outcome, REASON_OF_ALL(TEMPLATE_USED, .most = use->passes));
	if ((err = rules_name_template(request, number, &rule, &named)) || !named) return err;
	char *id = msgpack_zone_malloc(request->zone, UUID_TEXT);
	if (!id) return ERR_NO_MEMORY;
	uuid_text(rule, id);
	return refuse(outcome, REASON_OF_ALL(TEMPLATE_NAMED, .given = span_str(id)));
}

static enum err cancel_fetch(struct request *request, uint32_t number)
{
	struct issuing row;
	enum err       err = template_images_get(request->view, request->account->id, number, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return template_images_del(request->view, request->account->id, number);
}

static enum err forget_class(struct request *request, uint32_t number)
{
	struct wallet_class row = {.template_number = number};
	enum err            err = wallet_class_get(request->view, request->account->id, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return wallet_class_del(request->view, request->account->id, number);
}

/* Removes the template's text, and the references to its images. */
static enum err remove_text(struct request *request, uint32_t number)
{
	struct account_id account = request->account->id;
	struct row_key    key = key_u32(account, number);
	const struct template *template;
	struct wallet_settings        room;
	const struct wallet_settings *wallet;
	enum err err = account_template(request->account, request->view, number, &template);
	if (!err) err = account_template_wallet(request->account, request->view, number, &room, &wallet);
	if (err) return err;
	struct span urls[IMAGE_USES] = {template->logo, template->banner, wallet->icon};
	if ((err = image_urls_move(request->view, account, urls, NULL))) return err;
	return view_del(request->view, TABLE_TEMPLATE, &key);
}

/* Writes the text once more: caches of the account follow that table. */
static enum err keep_text(struct request *request, uint32_t number)
{
	struct row_key key = key_u32(request->account->id, number);
	struct span    text;
	enum err       err = view_get(request->view, TABLE_TEMPLATE, key_span(&key), &text);
	return err ? err : view_put(request->view, TABLE_TEMPLATE, &key, text);
}

enum err on_TEMPLATE_DELETE(struct request *request, struct outcome *outcome)
{
	struct template_use use;
	uint32_t            number;
	msgpack_packer      pk = buffer_packer(outcome->payload);
	enum err            err = find(request, &number);
	if (err || (err = check_unused(request, outcome, number, &use))) return err;
	bool is_kept = use.state == TEMPLATE_USED;
	use.state = is_kept ? TEMPLATE_RETIRED : TEMPLATE_DELETED;
	if ((err = is_kept ? keep_text(request, number) : remove_text(request, number))) return err;
	if ((err = cancel_fetch(request, number))) return err;
	if ((err = forget_class(request, number))) return err;
	if ((err = template_use_put(request->view, request->account->id, number, &use))) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
