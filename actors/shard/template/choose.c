/* The template that a request names. */
#include "actors/shard/command.h"

static enum err find(const struct request *request, struct span id, uint32_t *number)
{
	struct account_id owner;
	const struct template *template;
	const struct account *account = request->account;
	if (!template_id_read(id, &owner, number)) return ERR_NOT_FOUND;
	if (!account_same(owner, account->id)) return ERR_UNAUTHORIZED;
	if (*number < 1 || *number > account->templates->count) return ERR_NOT_FOUND;
	return account_usable_template(account, request->view, *number, &template);
}

enum err choose_template(const struct request *request, const msgpack_object *arg, uint32_t *number)
{
	enum err err = arg_present(arg) ? find(request, arg_span(arg), number)
	                                : account_first_template(request->account, request->view, number);
	return err == ERR_NOT_FOUND ? ERR_PASS_TEMPLATE_NOT_FOUND : err;
}
