/* Finding, changing and reading a pass. */
#include "actors/shard/pass/pass.h"

#include "actors/shard/wallet/changed.h"
#include "store/index.h"
#include "store/issuing.h"
#include "store/keys.h"
#include "store/tally.h"

enum err pass_number(struct request *request, struct span pass_id, uint32_t *number)
{
	if (!pass_id_is_valid(pass_id)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = index_find(request->view, request->account->id, pass_id, number);
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

enum err pass_find(struct request *request, struct span pass_id, bool or_deleted, struct hot_at *pass)
{
	uint32_t number;
	enum err err = pass_number(request, pass_id, &number);
	if (err) return err;
	err = hot_get(request->view, request->account->id, number, pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return pass->now.flags & HOT_DELETED && !or_deleted ? ERR_RESOURCE_NOT_FOUND : OK;
}

enum err pass_template(const struct request *request, const struct hot *pass,
                       const struct template **template)
{
	const struct account *account = request->account;
	if (pass->template == 0 || pass->template > account->templates->count) return ERR_DAMAGED;
	enum err err = account_template(account, request->view, pass->template, template);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err; /* while it has passes it is not deleted */
}

enum err pass_body(struct request *request, const struct hot_at *pass, struct body *body)
{
	struct row_key key = key_u32(pass->account, pass->number);
	struct span    value;
	enum err       err = view_get(request->view, TABLE_BODY, key_span(&key), &value);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return body_open(value, body);
}

enum err pass_body_in(struct request *request, const struct hot_at *pass, struct buffer *room,
                      struct body *body)
{
	struct row_key  key = key_u32(pass->account, pass->number);
	struct view_row row;
	enum err        err = view_parted_from(request->view, TABLE_BODY, key_span(&key), room, &row);
	if (err || !span_equal(row.key, key_span(&key)))
		return !err || err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return body_open(row.value, body);
}

enum err pass_body_put(struct request *request, struct account_id account, uint32_t number,
                       const struct body *body)
{
	struct row_key key = key_u32(account, number);
	struct buffer  bytes = {0};
	if (body_size(body) > PASS_STORED_BYTES_MAX) return ERR_PAYLOAD_TOO_LARGE;
	body_pack(body, &bytes);
	return view_put_buffer(request->view, TABLE_BODY, &key, &bytes);
}

enum err pass_plan_balance(const struct template *template, int64_t balance, int64_t delta, int64_t *after)
{
	if (template->loyalty == LOYALTY_NONE) return ERR_NO_LOYALTY_PROGRAM;
	*after = balance + delta; /* neither sum nor bound can overflow */
	if (*after > BALANCE_MAX || *after < -BALANCE_MAX) return ERR_INVALID_INPUT;
	if (delta < 0 && template->has_min_balance && *after < template->min_balance)
		return ERR_INSUFFICIENT_BALANCE;
	return OK;
}

bool pass_may_be_put(const struct hot *pass)
{
	return pass_is_issued(pass) && !(pass->flags & HOT_REINSTALL_BLOCKED);
}

enum cause pass_is_dead(const struct hot *pass)
{
	return pass->status == PASS_DEACTIVATED       ? CAUSE_PASS_DEACTIVATED
	       : pass->status == PASS_CREATION_FAILED ? CAUSE_PASS_NOT_MADE
	                                              : CAUSE_NONE;
}

enum err pass_ledger(struct request *request, struct ledger_row *row, uint64_t *seq)
{
	struct account_ends *ends = &request->ends;
	row->at = request->now;
	enum err err = scan_gather_if_due(request->view, request->account->id, ends);
	if (err || (err = ledger_put(request->view, request->account->id, ends->ledger + 1, row))) return err;
	*seq = ++ends->ledger;
	return OK;
}

enum err pass_change(struct request *request, const struct hot_at *pass, struct hot after,
                     struct ledger_row row)
{
	enum err err = wallet_pass_changes(request, pass, &after);
	if (err) return err;
	row.number = pass->number;
	row.status = after.status;
	row.flags = after.flags;
	row.balance = after.balance;
	row.previous = pass->now.ledger_head;
	if ((err = pass_ledger(request, &row, &after.ledger_head))) return err;
	if (row.what != LEDGER_MESSAGE) after.updated = request->now;
	bool leaves = pass->now.status == PASS_CREATING && after.status != PASS_CREATING;
	if (leaves && (err = issuing_del(request->view, pass->account, pass->number))) return err;
	if ((err = hot_put(request->view, pass, &after))) return err;
	return tally_move(request->view, pass->account, &pass->now, &after);
}
