/* The ledger is walked back from the pass's newest row. Rows of one command have the same time, and count as one change. */
#include "actors/shard/wallet/announce.h"

#include "actors/shard/account/account.h"
#include "actors/shard/wallet/message.h"

enum {
	LOOKED_MAX = 64
}; /* behind more rows than this, only the counter is announced, which has not changed then */
static const char mark[] = "\xe2\x80\x8b"; /* U+200B, a space without a width */

static enum err copy_marked(struct request *request, struct span text, struct span *copy)
{
	size_t   size = text.size + sizeof mark - 1;
	uint8_t *at = arena_take(view_arena(request->view), size);
	if (!at) return ERR_NO_MEMORY;
	memcpy(at, text.at, text.size);
	memcpy(at + text.size, mark, sizeof mark - 1);
	*copy = span_of(at, size);
	return OK;
}

static enum err find_message(struct request *request, uint32_t pass_number, struct span *message)
{
	struct wallet_message_shown last;
	enum err                    err = wallet_message_shown(request, pass_number, &last);
	*message = last.text;
	return !err && last.text.size && last.is_marked ? copy_marked(request, last.text, message) : err;
}

/* The newest change that can be announced, and what else happened at that time. */
struct newest {
	bool    has_any, has_message, has_counter;
	wall_us at;
	uint8_t field; /* of the newest edit, as in the ledger */
};

static bool take_row(struct newest *newest, const struct ledger_row *row)
{
	bool is_message = row->what == LEDGER_MESSAGE;
	bool is_counter = ledger_moves(row->what) && row->delta;
	bool is_edit = row->what == LEDGER_EDITED && row->field != LEDGER_SHOWS_NOTHING;
	if (newest->has_any && row->at.v < newest->at.v) return false;
	if (!is_message && !is_counter && !is_edit) return true;
	if (is_edit && !newest->has_any) newest->field = row->field;
	newest->has_any = true;
	newest->at = row->at;
	newest->has_message |= is_message;
	newest->has_counter |= is_counter;
	return true;
}

static enum err find_newest(struct request *request, const struct hot_at *pass, struct newest *newest)
{
	uint64_t seq = pass->now.ledger_head;
	*newest = (struct newest){.has_any = false};
	for (unsigned i = 0; seq && i < LOOKED_MAX; i++) {
		struct ledger_row row;
		enum err          err = ledger_get(request->view, pass->account, seq, &row);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (!take_row(newest, &row)) return OK;
		seq = row.previous;
	}
	return OK;
}

enum err wallet_announce(struct request *request, const struct hot_at *pass, struct wallet_pass *shown)
{
	struct newest newest;
	uint32_t      look;
	wall_us       changed; /* since then, the field may have another number */
	enum err      err = find_message(request, pass->number, &shown->message);
	if (!err) err = find_newest(request, pass, &newest);
	if (!err)
		err = account_template_look(request->account, request->view, pass->now.template, &look,
		                            &changed);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (newest.has_message && shown->message.size)
		shown->announces = WALLET_ANNOUNCES_MESSAGE;
	else if (!newest.has_any || newest.has_counter || newest.has_message)
		shown->announces = WALLET_ANNOUNCES_COUNTER;
	else if (newest.field && newest.at.v >= changed.v && newest.field <= shown->template->field_count)
		shown->announces = WALLET_ANNOUNCES_FIELD;
	else
		shown->announces = WALLET_ANNOUNCES_NOTHING;
	if (shown->announces == WALLET_ANNOUNCES_FIELD) shown->announced_field = newest.field - 1u;
	return OK;
}
