/* GET /v1/pass-templates/accepted-fields */
#include "actors/shard/command.h"
#include "schemas/api/template.h"

static void pack_field(msgpack_packer *pk, const struct template_field *field)
{
	msgpack_pack_map(pk, 6);
	pack_text(pk, "key");
	pack_str(pk, field->key);
	pack_text(pk, "label");
	pack_str(pk, field->label);
	pack_text(pk, "type");
	pack_text(pk, field_kind_text(field->kind));
	pack_switch(pk, "required", field->required);
	pack_switch(pk, "locked", field->locked);
	pack_text(pk, "max_length");
	if (field->max_length)
		msgpack_pack_int64(pk, field->max_length);
	else
		msgpack_pack_nil(pk);
}

enum err on_TEMPLATE_FIELDS(struct request *request, struct outcome *outcome)
{
	uint32_t       number;
	char           id[TEMPLATE_ID_TEXT];
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = choose_template(request, &request->args[ARG_TEMPLATE_FIELDS_pass_template_id],
	                                     &number);
	const struct template *template;
	if (err || (err = account_template(request->account, request->view, number, &template))) return err;
	template_id_text(request->account->id, number, id);
	msgpack_pack_map(&pk, 4);
	pack_text(&pk, "pass_template_id");
	pack_text(&pk, id);
	pack_text(&pk, "name");
	pack_str(&pk, template->name);
	pack_text(&pk, "loyalty_type");
	pack_text(&pk, loyalty_text(template->loyalty));
	pack_text(&pk, "accepted_fields");
	msgpack_pack_array(&pk, template->field_count);
	for (unsigned i = 0; i < template->field_count; i++)
		pack_field(&pk, &template->fields[i]);
	return OK;
}
