/* Classes at Google become due: one when its template is put, all when a service account is put, or Google's wallet is switched on.
 *
 *   wallet google put ─▶ row CLASSES ─▶ WALLET_CLASSES_STEP, some templates at a time ─▶ rows CLASS ─▶ GOOGLE_LEASE
 *
 * After a put of the default, one row (WALLET_CLASSES_OF_ALL) goes through the accounts in table order and puts a row
 * for each account that the default serves. So an account that cannot be read delays no other. */
#include "actors/shard/wallet/google_class.h"

#include "actors/shard/account/account.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/google.h"
#include "store/meta.h"
#include "store/wallet_due.h"

_Static_assert((int)CLASSES_STEP_MAX + 1 <= (int)BULK_WRITES_MAX,
               "a step writes a row for each template and its own");

/* Does a service account serve it? *is_default: the operator's. */
static enum err is_served(struct request *request, bool *serves, bool *is_default)
{
	struct wallet_credential row = {.number = 0};
	enum err                 err = ERR_NOT_FOUND;
	bool                     is_on = wallet_is_on(&request->account->row, WALLET_GOOGLE);
	if (is_on && wallet_kinds_here(request) & WALLET_BIT(WALLET_GOOGLE))
		err = wallet_credential_now(request->view, request->account->id, WALLET_GOOGLE, &row);
	*serves = !err;
	*is_default = !err && account_same(row.account, wallet_operator);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* A row that waits, or is leased, covers this change, too. */
static enum err put_class(struct request *request, uint32_t template, uint8_t flags)
{
	struct wallet_due row = {
	    .account = request->account->id, .kind = WALLET_DUE_CLASS, .number = template};
	enum err err = wallet_due_get(request->view, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	if (!err && (flags || !row.flags)) return OK;
	if (err) row.due = row.since = request->now;
	row.flags = flags;
	return wallet_due_put(request->view, &row);
}

enum err google_class_due(struct request *request, uint32_t template)
{
	bool     serves, is_default;
	enum err err = is_served(request, &serves, &is_default);
	return err || !serves ? err : put_class(request, template, 0);
}

static enum err put_walk(struct request *request, struct account_id account, uint32_t number)
{
	struct wallet_due row = {
	    .account = account, .kind = WALLET_DUE_CLASSES, .number = number, .due = request->now};
	return wallet_due_put(request->view, &row);
}

enum err google_classes_due(struct request *request)
{
	bool is_here = wallet_kinds_here(request) & WALLET_BIT(WALLET_GOOGLE);
	return is_here ? put_walk(request, request->account->id, WALLET_CLASSES_OF_ONE) : OK;
}

enum err google_classes_first(struct request *request, struct account_id *first)
{
	struct account_row row;
	*first = wallet_operator;
	enum err err = request->account ? OK : account_row_next(request->view, first, &row);
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err google_classes_due_from(struct request *request, struct account_id first)
{
	if (request->account) return google_classes_due(request);
	bool has_any = !account_same(first, wallet_operator);
	return has_any ? put_walk(request, first, WALLET_CLASSES_OF_ALL) : OK;
}

/* The account behind *id, with which the walk goes on. */
static enum err go_on(struct request *request, struct account_id id)
{
	struct account_row row;
	enum err           err = account_row_next(request->view, &id, &row);
	return err ? err : put_walk(request, id, WALLET_CLASSES_OF_ALL);
}

/* Stages the rows of some templates, of deleted ones too: their lease finds nothing to write. row->position: the template that comes
 * after them, 0: none does. */
static enum err put_some(struct request *request, unsigned count_max, struct wallet_due *row)
{
	uint32_t number = row->position ? row->position : 1, end = request->account->templates->count;
	enum err err = OK;
	for (unsigned i = 0; !err && i < count_max && number <= end; i++, number++)
		err = put_class(request, number, WALLET_DUE_IS_BULK);
	row->position = number <= end ? number : 0;
	return err;
}

enum err on_WALLET_CLASSES_STEP(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	unsigned              count = (unsigned)arg_integer(&args[ARG_WALLET_CLASSES_STEP_count], 1);
	struct wallet_due     row = {
	        .account = request->account->id,
	        .kind = WALLET_DUE_CLASSES,
	        .number = (uint32_t)arg_integer(&args[ARG_WALLET_CLASSES_STEP_number], WALLET_CLASSES_OF_ONE)};
	bool     serves, is_default;
	enum err err = wallet_due_get(request->view, &row);
	(void)outcome;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	enum err fault = is_served(request, &serves, &is_default);
	if (row.number == WALLET_CLASSES_OF_ALL) {
		err = go_on(request, row.account);
		if (err && err != ERR_NOT_FOUND) return err;
		if ((err = wallet_due_del(request->view, &row))) return err;
		/* With a fault, the account's own step meets it alone. */
		return fault || is_default ? put_walk(request, row.account, WALLET_CLASSES_OF_ONE) : OK;
	}
	if (fault) return fault;
	err = serves ? put_some(request, count, &row) : OK;
	if (err) return err;
	return serves && row.position ? wallet_due_put(request->view, &row)
	                              : wallet_due_del(request->view, &row);
}
