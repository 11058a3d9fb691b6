/* template list: the operator's files, each with its id in front, oldest first. */
#include "actors/shard/command.h"

enum err on_TEMPLATE_LIST(struct request *request, struct outcome *outcome)
{
	const struct account *account = request->account;
	struct buffer         text = {0};
	char                  id[TEMPLATE_ID_TEXT];
	msgpack_packer        pk = buffer_packer(outcome->payload);
	msgpack_pack_array(&pk, account->template_count);
	for (unsigned i = 0; i < account->template_count; i++) {
		struct span json =
		    account->templates[i]->json; /* "{…}", never empty inside: a name is required */
		template_id_text(account->id, account->templates[i]->number, id);
		buffer_clear(&text);
		buffer_text(&text, "{\"pass_template_id\":\"");
		buffer_text(&text, id);
		buffer_text(&text, "\",");
		buffer_append(&text, json.at + 1, json.size - 1);
		pack_bin(&pk, buffer_span(&text));
	}
	bool failed = text.failed;
	buffer_free(&text);
	return failed ? ERR_NO_MEMORY : OK;
}
