/* reader put ACCOUNT --id ID --name NAME: scans show the name from now on, those that were made before too. */
#include "actors/shard/reader/reader.h"
#include "schemas/api/reader.h"

/* As it is; one that is new gets a number. */
static enum err find(struct request *request, struct span id, struct scan_tally *tally,
                     struct reader_row *row)
{
	enum err err = reader_row_find(request->view, request->account->id, id, row);
	if (err == ERR_NOT_FOUND) *row = (struct reader_row){.number = ++tally->readers, .id = id};
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err on_READER_PUT(struct request *request, struct outcome *outcome)
{
	struct span id = arg_span(&request->args[ARG_READER_PUT_id]),
	            name = arg_span(&request->args[ARG_READER_PUT_name]);
	struct account_id account = request->account->id;
	struct scan_tally tally;
	struct reader_row row;
	msgpack_packer    pk = buffer_packer(outcome->payload);
	if (!text_is_plain(id, READER_ID_BYTES_MAX))
		return refuse(outcome, REASON(PLAIN_TEXT, "id", .most = READER_ID_BYTES_MAX));
	if (!text_is_plain(name, READER_NAME_BYTES_MAX))
		return refuse(outcome, REASON(PLAIN_TEXT, "name", .most = READER_NAME_BYTES_MAX));
	enum err err = scan_tally_get(request->view, account, &tally);
	if (err || (err = find(request, id, &tally, &row))) return err;
	if (!row.named) {
		if (tally.readers_named >= READERS_NAMED_MAX)
			return refuse(outcome, REASON(READERS_FULL, "id", .most = READERS_NAMED_MAX));
		tally.readers_named++;
		row.named = true;
		row.named_at = request->now;
	}
	row.name = name;
	if ((err = reader_row_put(request->view, account, &row))) return err;
	msgpack_pack_map(&pk, 0);
	return scan_tally_put(request->view, account, &tally);
}
