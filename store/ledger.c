/* Rows of the table LEDGER. */
#include "store/ledger.h"

#include "schemas/bytes.h"
#include "store/keys.h"
#include "store/tails.h"

const char *ledger_what_text(enum ledger_what what)
{
	switch (what) {
#define W(id, NAME, text)   \
	case LEDGER_##NAME: \
		return text;
#include "store/ledger.def"
#undef W
	}
	return "unknown";
}

bool ledger_moves(enum ledger_what what)
{
	return what == LEDGER_LOYALTY || what == LEDGER_RULE;
}

enum err ledger_put(struct view *view, struct account_id account, uint64_t seq, const struct ledger_row *row)
{
	struct row_key key = key_u64(account, seq);
	uint8_t        bytes[LEDGER_MOVE_BYTES] = {0};
	put_le32(bytes, row->number);
	bytes[4] = (uint8_t)row->what;
	bytes[5] = row->status;
	bytes[6] = row->flags;
	bytes[7] = row->field;
	put_le64(bytes + 8, (uint64_t)row->at.v);
	put_le64(bytes + 16, row->previous);
	put_le64(bytes + 24, (uint64_t)row->delta);
	put_le64(bytes + 32, (uint64_t)row->balance);
	size_t size = ledger_moves(row->what) ? LEDGER_MOVE_BYTES : LEDGER_EVENT_BYTES;
	return view_put(view, TABLE_LEDGER, &key, span_of(bytes, size));
}

enum err ledger_get(struct view *view, struct account_id account, uint64_t seq, struct ledger_row *row)
{
	struct row_key key = key_u64(account, seq);
	struct span    value;
	enum err       err = view_get(view, TABLE_LEDGER, key_span(&key), &value);
	return err ? err : ledger_row_read(value, row);
}

enum err ledger_row_read(struct span value, struct ledger_row *row)
{
	if (value.size != LEDGER_EVENT_BYTES && value.size != LEDGER_MOVE_BYTES) return ERR_DAMAGED;
	*row = (struct ledger_row){
	    .number = get_le32(value.at),
	    .what = (enum ledger_what)value.at[4],
	    .at = {(int64_t)get_le64(value.at + 8)},
	};
	if (row->what == LEDGER_SCAN) return OK;
	row->status = value.at[5];
	row->flags = value.at[6];
	row->field = value.at[7];
	row->previous = get_le64(value.at + 16);
	if (value.size == LEDGER_MOVE_BYTES) {
		row->delta = (int64_t)get_le64(value.at + 24);
		row->balance = (int64_t)get_le64(value.at + 32);
	}
	return OK;
}

enum err ledger_last(struct view *view, struct account_id account, uint64_t *seq)
{
	return tails_last(view, account, seq);
}
