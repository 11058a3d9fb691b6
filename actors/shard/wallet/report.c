/* WALLET_REPORT: what became of leased pushes. A report counts only for the very lease that it names. First all rows are looked
 * up, then the results are staged. */
#include "actors/shard/wallet/phone.h"
#include "actors/shard/wallet/probe.h"
#include "actors/shard/wallet/settle.h"
#include "actors/shard/wallet/work.h"
#include "schemas/api/push.h"
#include "schemas/wallet/push.h"

_Static_assert(
    (int)PUSHES_PER_CALL_MAX + 5 * (int)PUSH_NOTES_PER_CALL_MAX <= (int)BULK_WRITES_MAX,
    "a report writes a row for each push, four for each phone that is gone and one for each complaint");

/* Phones that are gone -------------------------------------------------------------------------------------- */

struct gone {
	struct hot_at       pass;
	struct registration phone;
	bool                is_last;
};

struct all_gone {
	unsigned    count;
	struct gone of[PUSH_NOTES_PER_CALL_MAX];
};

/* Is the registration still the one that the push went to? */
static bool is_meant(const struct registration *row, const struct push_gone *gone)
{
	uint8_t hash[sizeof gone->token_hash];
	push_token_hash(row->push_token, hash);
	if (memcmp(hash, gone->token_hash, sizeof hash) != 0) return false;
	return !gone->at_ms || row->since.v / US_PER_MS <= gone->at_ms;
}

/* How many phones have the pass. A range read. */
static enum err count_phones(struct request *request, const struct hot_at *pass, unsigned *count)
{
	struct registration row = {.pass_number = pass->number};
	enum err            err = registration_first(request->view, pass->account, &row);
	for (*count = 0; !err; ++*count)
		err = registration_next(request->view, pass->account, &row);
	return err == ERR_NOT_FOUND ? OK : err;
}

static bool is_noted(const struct all_gone *all, const struct gone *gone)
{
	for (unsigned i = 0; i < all->count; i++) {
		const struct gone *at = &all->of[i];
		if (at->pass.number == gone->pass.number &&
		    account_same(at->pass.account, gone->pass.account) &&
		    at->phone.credential == gone->phone.credential &&
		    !memcmp(at->phone.device, gone->phone.device, DEVICE_BYTES))
			return true;
	}
	return false;
}

static enum err look_up_gone(struct request *request, const struct push_gone *told, struct all_gone *all)
{
	struct gone gone = {.phone = {.pass_number = told->pass_number, .credential = told->credential}};
	enum err    err = hot_get(request->view, told->account, told->pass_number, &gone.pass);
	memcpy(gone.phone.device, told->device, DEVICE_BYTES);
	if (!err) err = registration_get(request->view, told->account, &gone.phone);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (is_meant(&gone.phone, told) && !is_noted(all, &gone)) all->of[all->count++] = gone;
	return OK;
}

/* The last entry of a pass that loses all of its phones begins its removal. */
static enum err find_last(struct request *request, struct all_gone *all)
{
	for (unsigned i = 0; i < all->count; i++) {
		unsigned phones, going = 0, last = i;
		enum err err = count_phones(request, &all->of[i].pass, &phones);
		if (err) return err;
		for (unsigned k = 0; k < all->count; k++) {
			bool same = all->of[k].pass.number == all->of[i].pass.number &&
			            account_same(all->of[k].pass.account, all->of[i].pass.account);
			going += same;
			if (same) last = k;
		}
		all->of[i].is_last = going == phones && last == i;
	}
	return OK;
}

static enum err take_gone(struct request *request, struct span told, struct all_gone *all)
{
	enum err err = told.size % PUSH_GONE_BYTES ? ERR_MALFORMED : OK;
	all->count = 0;
	for (size_t at = 0; !err && at < told.size; at += PUSH_GONE_BYTES) {
		struct push_gone gone;
		push_gone_read(told.at + at, &gone);
		probe_refuse(&request->work->probes[WORK_APPLE], &gone);
		err = look_up_gone(request, &gone, all);
	}
	return err ? err : find_last(request, all);
}

/* Pushes ---------------------------------------------------------------------------------------------------- */

static void count(struct request *request, unsigned fate, uint64_t more)
{
	atomic_fetch_add_explicit(&request->pushes->fates[fate], more, memory_order_relaxed);
}

/* A report, and whether its pass has changed since the lease. */
struct settled_push {
	struct push_report report;
	bool               is_behind;
};

/* Before anything is staged. What is no lease any more has not changed. */
static enum err look_up_push(struct request *request, const uint8_t *bytes, struct settled_push *settled)
{
	const struct push_report *report = &settled->report;
	settled->is_behind = false;
	if (!push_report_read(bytes, &settled->report)) return ERR_MALFORMED;
	if (!work_leased(request->work, WORK_APPLE, &report->lease)) return OK;
	return settle_is_behind(request, &report->lease, &settled->is_behind);
}

static enum err settle_done(struct request *request, struct settled_work *work)
{
	int64_t late = request->now.v - work->row.since.v;
	histogram_add(&request->pushes->delay, &scale_us, late > 0 ? late : 0);
	return settle_end(request, work);
}

/* The next lease finds the credential's rest. */
static enum err settle_held(struct request *request, struct wallet_due *row)
{
	if (row->due.v > request->now.v) row->due = request->now; /* it was woken before its time */
	return wallet_due_put(request->view, row);
}

/* A service that accepts a push to a phone which does not exist is not APNs. */
static bool end_probe(struct request *request, const struct push_lease *lease, enum push_fate fate)
{
	struct wallet_probe *probe = &request->work->probes[WORK_APPLE];
	if (!probe_end(probe, lease, fate == PUSH_DONE && probe->is_refused)) return false;
	if (fate == PUSH_DONE && !probe->is_refused)
		snprintf(probe->reason, sizeof probe->reason, "a push to a made-up phone was accepted");
	return true;
}

static enum err settle(struct request *request, const struct settled_push *settled)
{
	const enum push_fate     fate = settled->report.fate;
	const struct push_lease *lease = &settled->report.lease;
	struct settled_work      ends = {
	         .lease = lease,
	         .row = {.account = lease->account, .kind = WALLET_DUE_PUSH, .number = lease->pass_number},
	         .is_behind = settled->is_behind};
	if (end_probe(request, lease, fate)) return OK;
	const struct wallet_work *work = work_leased(request->work, WORK_APPLE, lease);
	if (!work) return OK;
	enum err err = wallet_due_get(request->view, &ends.row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	ends.left_until = work->left_until;
	count(request, fate, 1);
	switch (fate) {
	case PUSH_DONE: return settle_done(request, &ends);
	case PUSH_AGAIN: return settle_again(request, &ends);
	case PUSH_HELD: return settle_held(request, &ends.row);
	default: return settle_end(request, &ends);
	}
}

enum err on_WALLET_REPORT(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct span           reports = arg_span(&args[ARG_WALLET_REPORT_reports]);
	struct all_gone       gone;
	struct settled_push   settled[PUSHES_PER_CALL_MAX];
	unsigned              reported = 0;
	enum err              err = reports.size % PUSH_REPORT_BYTES ? ERR_MALFORMED : OK;
	(void)outcome;
	if (!err) err = take_gone(request, arg_span(&args[ARG_WALLET_REPORT_gone]), &gone);
	for (size_t at = 0; !err && at < reports.size; at += PUSH_REPORT_BYTES)
		err = look_up_push(request, reports.at + at, &settled[reported++]);
	for (unsigned i = 0; !err && i < reported; i++)
		err = settle(request, &settled[i]);
	for (unsigned i = 0; !err && i < gone.count; i++)
		err = phone_gives_up(request, &gone.of[i].pass, &gone.of[i].phone, gone.of[i].is_last);
	if (!err) count(request, PUSH_GONE_COUNT, gone.count);
	if (err) return err;
	return settle_complaints(request, WALLET_APPLE, arg_span(&args[ARG_WALLET_REPORT_complaints]));
}
