/* GET /v1/pass-templates/accepted-fields */
#include "actors/shard/command.h"
#include "schemas/object_msgpack.h"
#include "schemas/api/template.h"

static void pack_AcceptedField(msgpack_packer *pk, const struct template_field *field)
{
	size_t map = map_begin(pk);
#include "schemas/objects/accepted_field.def"
}

enum err on_TEMPLATE_FIELDS(struct request *request, struct outcome *outcome)
{
	uint32_t              number;
	char                  id[TEMPLATE_ID_TEXT];
	msgpack_packer        packer = buffer_packer(outcome->payload), *pk = &packer;
	const msgpack_object *named = &request->args[ARG_TEMPLATE_FIELDS_pass_template_id];
	enum err              err = choose_template(request, named, &number);
	if (err == ERR_PASS_TEMPLATE_NOT_FOUND && !arg_present(named))
		return refuse(outcome, REASON_OF_ALL(NO_TEMPLATE));
	const struct template *template;
	if (err || (err = account_template(request->account, request->view, number, &template))) return err;
	template_id_text(request->account->id, number, id);
	size_t map = map_begin(pk);
#include "schemas/objects/accepted_fields.def"
	return OK;
}
