/* audience delete ACCOUNT ID: the row goes. What is scheduled for it finds no audience when it is due, and fails. No audience
 * ever has this id again. */
#include "actors/shard/audience/audience.h"
#include "schemas/api/audience.h"

enum err on_AUDIENCE_DELETE(struct request *request, struct outcome *outcome)
{
	struct uuid    id;
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = audience_find(request, &request->args[ARG_AUDIENCE_DELETE_audience_id], &id);
	if (err || (err = audience_row_del(request->view, request->account->id, id))) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
