/* GOOGLE_REPORT: what became of leased passes in Google's wallet, and of classes. A report counts only for the very lease that it names. */
#include "actors/shard/wallet/wallet.h"
#include "actors/shard/wallet/google.h"
#include "actors/shard/wallet/phone.h"
#include "actors/shard/wallet/settle.h"
#include "actors/shard/wallet/work.h"
#include "schemas/api/google.h"
#include "schemas/wallet/google_job.h"
#include "store/wallet_class.h"

enum { HOUR_S = 3600, ERASED_TRIES = 4 };
_Static_assert(
    3 * (int)GOOGLE_JOBS_MAX + (int)PUSH_NOTES_PER_CALL_MAX <= (int)BULK_WRITES_MAX,
    "a report writes three rows for each pass, beside the accounts' tallies, and one for each complaint");

struct settled {
	const struct google_report *report;
	struct settled_work         work;
	struct wallet_google        row;
	struct hot_at               pass;
	bool                        has_phones;
	bool
	     is_another; /* the row speaks of another object since the lease: of another issuer, or of one that is to be made */
	bool is_deleted; /* the template of a class */
	bool is_changed; /* the work was put again since the lease */
};

static void note_message(const struct request *request, struct settled *settled)
{
	struct wallet_google *row = &settled->row;
	if (settled->report->message == GOOGLE_MESSAGE_NONE) return;
	row->message = settled->report->notification + 1;
	if (settled->report->message != GOOGLE_MESSAGE_NOTIFIED) return;
	memmove(&row->notices[0], &row->notices[1], sizeof row->notices - sizeof row->notices[0]);
	row->notices[WALLET_GOOGLE_NOTICES - 1] = request->now;
}

/* Google has no object of a pass that was offered, or does not take it: it is asked again later. */
static enum err keep_quiet(struct request *request, struct settled *settled, int64_t seconds)
{
	enum err err = wallet_due_del(request->view, &settled->work.row);
	if (err || settled->row.state == WALLET_GOOGLE_GONE) return err;
	settled->row.quiet.v = request->now.v + seconds * US_PER_SEC;
	return wallet_google_row_put(request->view, settled->pass.account, &settled->row);
}

/* Nobody has saved it, says Google: as if the holder had deleted it. */
static enum err settle_absent(struct request *request, struct settled *settled)
{
	if (settled->row.state == WALLET_GOOGLE_MADE) settled->row.state = WALLET_GOOGLE_OFFERED;
	if (settled->row.state != WALLET_GOOGLE_SAVED) return keep_quiet(request, settled, 24 * HOUR_S);
	if (wallet_real_time(request).v < settled->row.quiet.v) return settle_again(request, &settled->work);
	unsigned was = settled->row.state;
	settled->row.state = WALLET_GOOGLE_GONE;
	enum err err = wallet_due_del(request->view, &settled->work.row);
	if (!err) err = google_row_change(request, &settled->pass, &settled->row, was);
	bool begins = !settled->has_phones && settled->pass.now.flags & HOT_BY_WALLET;
	return !err && begins ? phone_removal_begin(request, &settled->pass) : err;
}

/* The row of a pass that was written, but is not known to be saved. An object that a link brought to Google is there only if it was
 * saved; one that was made for a link says itself whether it is. */
static enum err note_offered(struct request *request, struct settled *settled)
{
	struct wallet_due       due = {.account = settled->pass.account,
	                               .kind = WALLET_DUE_SAVED,
	                               .number = settled->pass.number,
	                               .due = request->now};
	const enum google_users users = settled->report->users;
	bool                    is_offered = settled->row.state == WALLET_GOOGLE_OFFERED;
	if (users == GOOGLE_USERS_SOME || (is_offered && users == GOOGLE_USERS_UNSAID))
		return wallet_due_put(request->view, &due);
	if (settled->row.state == WALLET_GOOGLE_GONE) return OK;
	settled->row.state = WALLET_GOOGLE_MADE;
	settled->row.quiet.v = request->now.v + US_PER_DAY;
	return wallet_google_row_put(request->view, settled->pass.account, &settled->row);
}

static enum err settle_done(struct request *request, struct settled *settled)
{
	bool     is_saved = settled->row.state == WALLET_GOOGLE_SAVED;
	enum err err = OK;
	if (is_saved && settled->report->users == GOOGLE_USERS_NONE) return settle_absent(request, settled);
	if (!is_saved) err = note_offered(request, settled);
	if (err) return err;
	return settle_end(request, &settled->work);
}

static enum err settle_one(struct request *request, struct settled *settled)
{
	enum err err = OK;
	if (settled->is_another) return wallet_due_put(request->view, &settled->work.row);
	if (settled->report->message) {
		note_message(request, settled);
		err = wallet_google_row_put(request->view, settled->pass.account, &settled->row);
	}
	if (err) return err;
	switch (settled->report->fate) {
	case GOOGLE_DONE: return settle_done(request, settled);
	case GOOGLE_AGAIN: return settle_again(request, &settled->work);
	case GOOGLE_HELD: return wallet_due_put(request->view, &settled->work.row);
	case GOOGLE_ABSENT: return settle_absent(request, settled);
	default:
		/* No change comes that would begin again. */
		if (settled->pass.now.status == PASS_DEACTIVATED)
			return settle_again(request, &settled->work);
		return settled->row.state == WALLET_GOOGLE_SAVED || settled->work.is_behind
		           ? settle_end(request, &settled->work)
		           : keep_quiet(request, settled, HOUR_S);
	}
}

/* Google has blanked the object of an erased pass, or has none: nothing is left to be known of it. */
static enum err forget(struct request *request, struct settled *settled)
{
	enum err err = wallet_due_del(request->view, &settled->work.row);
	return err ? err : wallet_google_row_del(request->view, settled->pass.account, settled->pass.number);
}

/* Links leave it out from now on. */
static enum err note_class(struct request *request, const struct settled *settled)
{
	const struct push_lease *lease = &settled->report->lease;
	struct wallet_class      was = {.template_number = lease->pass_number};
	struct wallet_class      row = {.template_number = lease->pass_number, .issuer = lease->head};
	enum err                 err = wallet_class_get(request->view, lease->account, &was);
	if (err && err != ERR_NOT_FOUND) return err;
	return !err && was.issuer == row.issuer ? OK : wallet_class_put(request->view, lease->account, &row);
}

static enum err settle_class(struct request *request, struct settled *settled)
{
	switch (settled->report->fate) {
	case GOOGLE_DONE: break;
	case GOOGLE_AGAIN: return settle_again(request, &settled->work);
	case GOOGLE_HELD: return wallet_due_put(request->view, &settled->work.row);
	default: return settle_end(request, &settled->work);
	}
	enum err err = settled->is_deleted || settled->work.is_behind ? OK : note_class(request, settled);
	return err ? err : settle_end(request, &settled->work);
}

static enum err stage(struct request *request, struct settled *settled)
{
	enum google_fate fate = settled->report->fate;
	if (settled->work.row.kind == WALLET_DUE_CLASS) return settle_class(request, settled);
	if (!(settled->pass.now.flags & HOT_ERASED)) return settle_one(request, settled);
	if (fate == GOOGLE_HELD || settled->is_changed)
		return wallet_due_put(request->view, &settled->work.row);
	/* Just after a callback Google may not show the object yet. */
	bool is_shown = settled->row.state != WALLET_GOOGLE_SAVED ||
	                wallet_real_time(request).v >= settled->row.quiet.v;
	if (fate == GOOGLE_DONE || (fate == GOOGLE_ABSENT && is_shown)) return forget(request, settled);
	/* Google has no object, and takes no blank one. */
	bool is_unsaved = settled->row.state == WALLET_GOOGLE_OFFERED ||
	                  settled->row.state == WALLET_GOOGLE_WANTED;
	bool has_none = is_unsaved && settled->report->users == GOOGLE_USERS_NONE;
	if (fate == GOOGLE_REFUSED && has_none && settled->work.row.tries >= ERASED_TRIES)
		return forget(request, settled);
	/* What Google has of the holder must go: it is tried without an end. */
	if (settled->work.row.tries > ERASED_TRIES) settled->work.row.tries = ERASED_TRIES;
	return settle_again(request, &settled->work);
}

/* Has the template of a class, or the issuer that makes it, changed since its lease? A deleted one makes no class: its report changes
 * nothing but its row. */
static enum err look_up_class(struct request *request, struct settled *settled)
{
	const struct push_lease *lease = &settled->report->lease;
	const uint32_t           number = lease->pass_number;
	const struct template *template;
	struct account          *account;
	struct wallet_credential now;
	uint32_t                 look = 0;
	wall_us                  changed;
	enum err err = account_cached(request->accounts, request->view, lease->account, &account);
	if (!err && (!number || number > account->templates->count)) err = ERR_NOT_FOUND;
	if (!err) err = account_usable_template(account, request->view, number, &template);
	if (!err) err = account_template_look(account, request->view, number, &look, &changed);
	settled->is_deleted = err == ERR_NOT_FOUND;
	if (err) return settled->is_deleted ? OK : err;
	err = wallet_credential_now(request->view, lease->account, WALLET_GOOGLE, &now);
	settled->work.is_behind = settled->is_changed || look > lease->look ||
	                          (!err && now.number != lease->head);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Looks up what a report is of; *is_meant: its lease is still under way. Range reads. */
static enum err look_up_work(struct request *request, struct settled *settled, const struct wallet_work *work,
                             bool *is_meant)
{
	const struct push_lease *lease = &settled->report->lease;
	struct registration      phone = {.pass_number = lease->pass_number};
	settled->is_changed = work->is_changed;
	settled->work = (struct settled_work){
	    .lease = lease,
	    .row = {.account = lease->account, .kind = work->kind, .number = lease->pass_number}};
	settled->row.pass_number = lease->pass_number;
	enum err err = wallet_due_get(request->view, &settled->work.row);
	if (!err && work->kind == WALLET_DUE_CLASS) {
		*is_meant = true;
		return look_up_class(request, settled);
	}
	if (!err) err = wallet_google_row_get(request->view, lease->account, &settled->row);
	if (!err) err = hot_get(request->view, lease->account, lease->pass_number, &settled->pass);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	err = registration_first(request->view, lease->account, &phone);
	settled->has_phones = !err;
	*is_meant = !err || err == ERR_NOT_FOUND;
	if (!*is_meant) return err;
	settled->is_another = settled->row.issuer != work->issuer ||
	                      (settled->row.state == WALLET_GOOGLE_WANTED && !work->was_wanted);
	err = settle_is_behind(request, lease, &settled->work.is_behind);
	settled->work.is_behind |= settled->is_changed;
	return err;
}

static enum err look_up(struct request *request, struct settled *settled, bool *is_meant)
{
	const struct push_lease *lease = &settled->report->lease;
	bool                     ok = settled->report->fate == GOOGLE_DONE;
	struct wallet_work      *work = work_leased(request->work, WORK_GOOGLE, lease);
	*is_meant = false;
	if (probe_end(&request->work->probes[WORK_GOOGLE], lease, ok) || !work) return OK;
	enum err err = look_up_work(request, settled, work, is_meant);
	work->is_reported = !err && *is_meant;
	return err;
}

enum err on_GOOGLE_REPORT(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct span           reports = arg_span(&args[ARG_GOOGLE_REPORT_reports]);
	struct span           complaints = arg_span(&args[ARG_GOOGLE_REPORT_complaints]);
	struct google_report  read[GOOGLE_JOBS_MAX];
	struct settled        settled[GOOGLE_JOBS_MAX];
	unsigned              count = 0;
	enum err              err = OK;
	(void)outcome;
	if (reports.size % GOOGLE_REPORT_BYTES || complaints.size % PUSH_COMPLAINT_BYTES)
		return ERR_MALFORMED;
	for (size_t at = 0; !err && at < reports.size; at += GOOGLE_REPORT_BYTES) {
		bool is_meant;
		if (!google_report_read(reports.at + at, &read[count])) return ERR_MALFORMED;
		settled[count] = (struct settled){.report = &read[count]};
		err = look_up(request, &settled[count], &is_meant);
		count += is_meant;
	}
	for (unsigned i = 0; !err && i < count; i++)
		err = stage(request, &settled[i]);
	return err ? err : settle_complaints(request, WALLET_GOOGLE, complaints);
}
