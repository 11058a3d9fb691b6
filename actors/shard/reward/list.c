/* GET /v1/rewards: all of the account's, the oldest first. */
#include "actors/shard/list/list_out.h"
#include "actors/shard/reward/reward.h"
#include "schemas/api/reward.h"

static enum err show(struct request *request, bool with_archived, struct buffer *room, struct list_out *list)
{
	struct account_id     account = request->account->id;
	struct reward         row = {.family = 0};
	struct reward_version terms;
	enum err              err = OK;
	while (!list->err && !(err = reward_next(request->view, account, &row))) {
		if (row.status == REWARD_ARCHIVED && !with_archived) continue;
		if ((err = reward_version_in(request->view, account, &row, room, &terms))) return err;
		msgpack_packer pk = buffer_packer(list_item(list));
		reward_pack(&terms, row.status, row.updated, &pk);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err on_REWARD_LIST(struct request *request, struct outcome *outcome)
{
	bool          with_archived = arg_boolean(&request->args[ARG_REWARD_LIST_include_archived], false);
	struct buffer room = {
	    0}; /* of one version after the other: the view's own memory would keep them all */
	struct list_out list;
	list_begin(&list, outcome);
	enum err err = show(request, with_archived, &room, &list);
	if (!err) err = list_end(&list, 0, false);
	list_drop(&list);
	buffer_free(&room);
	return err;
}
