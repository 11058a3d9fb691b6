/* Rows and credentials after an attempt. */
#include "actors/shard/wallet/settle.h"

#include "actors/rt/log.h"
#include "actors/shard/wallet/work.h"
#include "store/hot.h"

/* Until the next try, in seconds, by the tries that have failed. After the last one the next change starts a new row: phones look by
 * themselves about once a day. */
static const int waits_s[] = {5, 30, 5 * 60, 30 * 60, 2 * 3600, 8 * 3600};
enum { TRIES_MAX = 1 + sizeof waits_s / sizeof *waits_s };
enum { REST_FIRST_S = 60, REST_MOST_S = 3600 };

enum err settle_is_behind(struct request *request, const struct push_lease *lease, bool *behind)
{
	struct account *account;
	struct hot_at   pass;
	uint32_t        look;
	wall_us         changed;
	enum err        err = account_cached(request->accounts, request->view, lease->account, &account);
	if (!err) err = hot_get(request->view, lease->account, lease->pass_number, &pass);
	if (!err) err = account_template_look(account, request->view, pass.now.template, &look, &changed);
	*behind = !err && (pass.now.ledger_head > lease->head || look > lease->look);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

enum err settle_end(struct request *request, struct settled_work *work)
{
	if (!work->is_behind && !work->left_until.v) return wallet_due_del(request->view, &work->row);
	work->row.tries = 0;
	if (!work->is_behind) {
		work->row.due = work->left_until; /* it keeps its age */
		return wallet_due_put(request->view, &work->row);
	}
	work->row.due = request->now;
	work->row.since.v = request->now.v - mono_since(request->mono, work->lease->leased).v;
	return wallet_due_put(request->view, &work->row);
}

enum err settle_again(struct request *request, struct settled_work *work)
{
	work->row.tries++;
	if (work->row.tries >= TRIES_MAX) return settle_end(request, work);
	work->row.due.v = request->now.v + waits_s[work->row.tries - 1] * US_PER_SEC;
	/* Phones that were left out can be pushed to now; nothing has failed for them. */
	if (work->left_until.v && work->left_until.v <= request->now.v) work->row.due = request->now;
	return wallet_due_put(request->view, &work->row);
}

static void log_rest(const struct wallet_credential *row, const char *reason)
{
	char account[ACCOUNT_ID_TEXT];
	wallet_owner_text(row->account, account);
	log_warn("wallet-credential-rests", "account=%s kind=%s seconds=%d reason=\"%s\"", account,
	         wallet_kind_text(row->kind), (int)row->rest_s, reason);
}

static enum err settle_complaint(struct request *request, enum wallet_kind kind,
                                 const struct push_complaint *complaint)
{
	struct wallet_credential row;
	enum err err = wallet_credential_get(request->view, complaint->account, kind, complaint->number,
	                                     &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (row.generation != complaint->generation || row.put.v != complaint->put.v) return OK;
	if (complaint->is_rehearsed && complaint->kind != PUSH_WORKS) return OK;
	bool rests = wallet_credential_rests(&row, request->now);
	bool is_known = span_is(row.last_error, complaint->reason);
	if (complaint->kind != PUSH_WORKS) row.last_error = span_str(complaint->reason);
	switch (complaint->kind) {
	case PUSH_WORKS:
		if (rests && !complaint->is_rehearsed) return OK; /* it was sent before the rest */
		if (!row.rest_s && !row.last_error.size) return OK;
		row.rests_until.v = row.rest_s = 0;
		row.last_error = span_of(NULL, 0);
		break;
	case PUSH_RESTS:
		if (rests) return OK;
		row.rest_s = !row.rest_s                    ? REST_FIRST_S
		             : row.rest_s > REST_MOST_S / 2 ? REST_MOST_S
		                                            : 2 * row.rest_s;
		row.rests_until.v = request->now.v + row.rest_s * US_PER_SEC;
		log_rest(&row, complaint->reason);
		break;
	default:
		if (is_known) return OK;
		break;
	}
	return wallet_credential_put(request->view, &row);
}

enum err settle_complaints(struct request *request, enum wallet_kind kind, struct span complaints)
{
	enum err err = complaints.size % PUSH_COMPLAINT_BYTES ? ERR_MALFORMED : OK;
	for (size_t at = 0; !err && at < complaints.size; at += PUSH_COMPLAINT_BYTES) {
		struct push_complaint complaint;
		if (!push_complaint_read(complaints.at + at, &complaint)) return ERR_MALFORMED;
		probe_complain(&request->work->probes[kind == WALLET_APPLE ? WORK_APPLE : WORK_GOOGLE],
		               &complaint);
		err = settle_complaint(request, kind, &complaint);
	}
	return err;
}
