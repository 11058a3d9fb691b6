/* Readers come into being where a scan first names them: nobody has to register one. */
#include "actors/shard/reader/reader.h"

enum err reader_take(struct request *request, struct span id, struct scan_tally *tally,
                     struct reader_row *row)
{
	enum err err = reader_row_find(request->view, request->account->id, id, row);
	if (err != ERR_NOT_FOUND) return err;
	*row = (struct reader_row){.number = ++tally->readers, .id = id};
	return reader_row_put(request->view, request->account->id, row);
}
