/* scan delete ACCOUNT SCAN_ID: the scan is in no list and no count any more, and what is still to be sent about it is
 * discarded. What it did to its pass stands. */
#include "actors/shard/reader/reader.h"
#include "actors/shard/scan/scan.h"
#include "schemas/api/scan.h"

enum err on_SCAN_DELETE(struct request *request, struct outcome *outcome)
{
	struct uuid     id;
	struct scan_row scan;
	uint32_t        number;
	msgpack_packer  pk = buffer_packer(outcome->payload);
	if (!uuid_read(arg_span(&request->args[ARG_SCAN_DELETE_scan_id]), &id)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = scan_row_find(request->view, request->account->id, id, &number, &scan);
	if (err == ERR_NOT_FOUND || (!err && scan.deleted)) return ERR_RESOURCE_NOT_FOUND;
	if (err || (err = reader_give_up(request, scan.reader))) return err;
	if ((err = scan_row_delete(request->view, request->account->id, number))) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
