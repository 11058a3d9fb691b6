/* rule delete: the row goes. Which passes it has fired for is nobody's business any more; those rows go in the background,
 * since they may be as many as there are passes. No rule ever has this id again. */
#include "actors/shard/rule/rule.h"
#include "schemas/api/rule.h"
#include "store/cleanup.h"

enum err on_RULE_DELETE(struct request *request, struct outcome *outcome)
{
	struct rule_row row;
	msgpack_packer  pk = buffer_packer(outcome->payload);
	enum err        err = rule_find(request, &request->args[ARG_RULE_DELETE_rule_id], &row);
	if (err || (err = rule_row_del(request->view, request->account->id, row.id))) return err;
	struct cleanup rest = cleanup_of(request->account->id, CLEANUP_RULE,
	                                 span_of(row.id.b, sizeof row.id));
	if ((err = cleanup_put(request->view, &rest))) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
