/* A reader is created by the first scan that names it: no registration is needed. A reader without a name is removed with its
 * last scan. */
#include "actors/shard/reader/reader.h"

enum err reader_take(struct request *request, struct span id, struct reader_row *row)
{
	struct account_id account = request->account->id;
	struct scan_tally tally;
	enum err          err = reader_row_find(request->view, account, id, row);
	if (err != ERR_NOT_FOUND) return err;
	if ((err = scan_tally_get(request->view, account, &tally))) return err;
	*row = (struct reader_row){.number = ++tally.readers, .id = id};
	if ((err = reader_row_put(request->view, account, row))) return err;
	return scan_tally_put(request->view, account, &tally);
}

enum err reader_give_up(struct request *request, uint32_t number)
{
	struct account_id account = request->account->id;
	struct reader_row row;
	if (!number) return OK;
	enum err err = reader_row_get(request->view, account, number, &row);
	if (err) return err;
	if (!row.scans) return ERR_DAMAGED;
	row.scans--;
	return row.scans || row.named ? reader_row_count(request->view, account, &row)
	                              : reader_row_del(request->view, account, &row);
}
