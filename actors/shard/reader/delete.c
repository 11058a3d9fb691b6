/* reader delete ACCOUNT ID: the name goes. Scans still tell the id, as those of a reader that never had a name; without a scan
 * nothing of the reader is left. */
#include "actors/shard/reader/reader.h"
#include "schemas/api/reader.h"

enum err on_READER_DELETE(struct request *request, struct outcome *outcome)
{
	struct span       id = arg_span(&request->args[ARG_READER_DELETE_id]);
	struct account_id account = request->account->id;
	struct scan_tally tally;
	struct reader_row row;
	msgpack_packer    pk = buffer_packer(outcome->payload);
	enum err          err = ERR_NOT_FOUND;
	if (text_is_plain(id, READER_ID_BYTES_MAX)) err = reader_row_find(request->view, account, id, &row);
	if (err == ERR_NOT_FOUND || (!err && !row.named))
		return blame_id(outcome, ERR_RESOURCE_NOT_FOUND, "id", CAUSE_READER_UNKNOWN, id);
	if (err || (err = scan_tally_get(request->view, account, &tally))) return err;
	if (!tally.readers_named) return ERR_DAMAGED;
	tally.readers_named--;
	if ((err = reader_name_del(request->view, account, &row))) return err;
	msgpack_pack_map(&pk, 0);
	return scan_tally_put(request->view, account, &tally);
}
