/* The commands of readers. */
#include "actors/shard/reader/reader.h"
#include "actors/shard/list/list_out.h"
#include "schemas/object_msgpack.h"
#include "schemas/api/reader.h"

/* reader put ACCOUNT --id ID --name NAME: scans show the name from now on, also those that were made before. */

/* The reader as it is stored; a new one gets a number. */
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

/* reader list ACCOUNT: the readers that have a name, in the order of their ids. */
static void pack_reader(const struct reader_row *row, msgpack_packer *pk)
{
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(id, STRING, row->id);
	MEMBER_ALWAYS(name, STRING, row->name);
	MEMBER_ALWAYS(created_at, TIME, row->named_at);
}

enum err on_READER_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out   list;
	struct reader_row row = {.number = 0};
	uint64_t          count = 0;
	enum err          err = OK;
	list_begin(&list, outcome);
	while (!list.err && !(err = reader_name_next(request->view, request->account->id, &row))) {
		msgpack_packer pk = buffer_packer(list_item(&list));
		pack_reader(&row, &pk);
		count++;
	}
	if (!err || err == ERR_NOT_FOUND) err = list_end(&list, count, false);
	list_drop(&list);
	return err;
}

/* reader delete ACCOUNT ID: removes the name. Scans still show the id; a reader without scans is removed. */
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
	if (err || (err = scan_gather(request->view, account, &request->ends))) return err;
	if ((err = reader_row_find(request->view, account, id, &row))) return err;
	if ((err = scan_tally_get(request->view, account, &tally))) return err;
	if (!tally.readers_named) return ERR_DAMAGED;
	tally.readers_named--;
	if ((err = reader_name_del(request->view, account, &row))) return err;
	msgpack_pack_map(&pk, 0);
	return scan_tally_put(request->view, account, &tally);
}
