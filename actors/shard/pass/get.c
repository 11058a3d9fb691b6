/* GET /v1/passes/{id} */
#include "actors/shard/pass/pass.h"
#include "schemas/api/pass.h"

enum err on_PASS_GET(struct request *request, struct outcome *outcome)
{
	struct hot_at pass;
	struct span   pass_id = arg_span(&request->args[ARG_PASS_GET_pass_id]);
	bool          or_deleted = arg_boolean(&request->args[ARG_PASS_GET_include_deleted], false);
	enum err      err = pass_find(request, pass_id, or_deleted, &pass);
	return err ? err : pass_show(request, &pass, outcome->payload);
}
