/* Which template a request means. */
#include "actors/shard/command.h"

enum err choose_template(const struct request *request, const msgpack_object *arg, uint32_t *number)
{
	struct account_id owner;
	*number = 1;
	if (arg_present(arg)) {
		if (!template_id_read(arg_span(arg), &owner, number)) return ERR_PASS_TEMPLATE_NOT_FOUND;
		if (memcmp(owner.b, request->account->id.b, sizeof owner.b)) return ERR_UNAUTHORIZED;
	}
	return *number >= 1 && *number <= request->account->templates->count ? OK
	                                                                     : ERR_PASS_TEMPLATE_NOT_FOUND;
}
