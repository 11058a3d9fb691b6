/* template put: makes a template, or replaces the one that the file names. What its passes depend on stays. */
#include "actors/shard/operator_file.h"

#include "schemas/fields/template.h"
#include "store/image_use.h"
#include "store/keys.h"

/* The number that the file's own id names; one past the last when it has none. */
static enum err choose_number(const struct request *request, const msgpack_object *id, uint32_t *number)
{
	*number = request->account->templates->count + 1;
	return id ? choose_template(request, id, number) : OK;
}

static enum err store_template(struct request *request, uint32_t number, struct span text)
{
	struct row_key key = key_u32(request->account->id, number);
	enum err       err = write_put(view_writes(request->view), TABLE_TEMPLATE, key_span(&key), text);
	if (err || number <= request->account->templates->count) return err;
	struct account_row row = request->account->row;
	row.template_count = number;
	return account_row_put(request->view, request->account->id, &row);
}

/* What its passes depend on stays. */
static enum err check_fixed(const struct request *request, uint32_t number, const struct template *rules,
                            struct outcome *outcome)
{
	const struct template *before;
	if (number > request->account->templates->count) return OK;
	enum err err = account_template(request->account, request->view, number, &before);
	if (err) return err;
	outcome->message = template_fixed(before, rules);
	return outcome->message ? ERR_RESOURCE_CONFLICT : OK;
}

/* Its images are referred to from now on; those of the one that it replaces are not. */
static enum err count_images(struct request *request, uint32_t number, const struct template *rules)
{
	const struct account  *account = request->account;
	const struct template *old = NULL;
	struct span            before[IMAGE_USES], after[IMAGE_USES] = {rules->logo, rules->banner};
	enum err               err = number <= account->templates->count
	                                 ? account_template(account, request->view, number, &old)
	                                 : OK;
	if (err) return err;
	if (old) memcpy(before, (struct span[IMAGE_USES]){old->logo, old->banner}, sizeof before);
	return image_urls_move(request->view, account->id, old ? before : NULL, after);
}

enum err on_TEMPLATE_PUT(struct request *request, struct outcome *outcome)
{
	const msgpack_object *argument = &request->args[ARG_TEMPLATE_PUT_file];
	struct operator_file *file;
	struct template rules;
	uint32_t       number;
	char           id[TEMPLATE_ID_TEXT];
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = operator_file_take(request, argument, "pass_template_id", &file);
	if (err) return err;
	if ((err = choose_number(request, file->id, &number)))
		return blame(outcome, err, span_str("pass_template_id"));
	if (number > TEMPLATES_PER_ACCOUNT_MAX) return ERR_RESOURCE_CONFLICT;
	if (template_read(file->json, &rules, &file->fault)) return operator_file_blame(outcome, file);
	if ((err = check_fixed(request, number, &rules, outcome))) return err;
	if ((err = count_images(request, number, &rules))) return err;
	if ((err = store_template(request, number, file->text))) return err;
	template_id_text(request->account->id, number, id);
	msgpack_pack_map(&pk, 1);
	pack_text(&pk, "pass_template_id");
	pack_text(&pk, id);
	return OK;
}
