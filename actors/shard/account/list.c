/* account list: this shard's, in order of id; the caller merges the shards. */
#include "actors/shard/account/facts.h"
#include "actors/shard/list/list_out.h"

enum err on_ACCOUNT_LIST(struct request *request, struct outcome *outcome)
{
	struct account_id  id = {{0}};
	struct account_row row;
	struct list_out    list;
	uint64_t           total = 0;
	enum err           err = OK;
	list_begin(&list, outcome);
	while (!list.err && !(err = account_row_next(request->view, &id, &row))) {
		msgpack_packer pk = buffer_packer(list_item(&list));
		account_pack(id, &row, &pk);
		total++;
	}
	if (!err || err == ERR_NOT_FOUND) err = list_end(&list, total, false);
	list_drop(&list);
	return err;
}
