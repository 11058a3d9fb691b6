/* pass history ACCOUNT PASS_ID: the ledger rows of the newest incarnation, oldest first. They are chained
 * backward, so the walk collects their numbers and the answer goes over them the other way. */
#include "actors/shard/list/list_out.h"
#include "schemas/object_msgpack.h"
#include "actors/shard/pass/pass.h"

#include "schemas/bytes.h"
#include "schemas/api/pass_command.h"

static enum err collect(struct request *request, const struct hot_at *pass, struct buffer *seqs)
{
	struct ledger_row row;
	uint8_t           bytes[8];
	for (uint64_t seq = pass->now.ledger_head; seq; seq = row.previous) {
		enum err err = ledger_get(request->view, pass->account, seq, &row);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (row.number != pass->number || row.previous >= seq) return ERR_DAMAGED;
		put_le64(bytes, seq);
		buffer_append(seqs, bytes, sizeof bytes);
	}
	return seqs->failed ? ERR_NO_MEMORY : OK;
}

void pass_pack_event(msgpack_packer *pk, const struct ledger_row *row)
{
	bool   moves = ledger_moves(row->what);
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(at, TIME, row->at);
	MEMBER_ALWAYS(what, STRING, ledger_what_text(row->what));
	MEMBER_SOMETIMES(delta, INTEGER, moves, row->delta);
	MEMBER_SOMETIMES(balance, INTEGER, moves, row->balance);
	MEMBER_SOMETIMES(status, PassStatus, !moves, pass_status_text(row->status));
}

enum err on_PASS_HISTORY(struct request *request, struct outcome *outcome)
{
	struct hot_at     pass;
	struct list_out   list;
	struct buffer     seqs = {0};
	struct ledger_row row;
	enum err err = pass_find(request, arg_span(&request->args[ARG_PASS_HISTORY_pass_id]), true, &pass);
	list_begin(&list, outcome);
	if (err || (err = collect(request, &pass, &seqs))) goto out;
	for (size_t at = seqs.size; at > 0 && !list.err; at -= 8) {
		if ((err = ledger_get(request->view, pass.account, get_le64(seqs.at + at - 8), &row)))
			goto out;
		msgpack_packer pk = buffer_packer(list_item(&list));
		pass_pack_event(&pk, &row);
	}
	err = list_end(&list, seqs.size / 8, false);
out:
	buffer_free(&seqs);
	list_drop(&list);
	return err;
}
