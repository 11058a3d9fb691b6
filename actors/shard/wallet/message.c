/* A message is staged with the command that sends it where that is of one pass: a loyalty call's, or a rule's. Scheduled ones, and
 * those to an audience, leave a row of WALLET_DUE, and the shard's own command goes through the passes, some at a time. */
#include "actors/shard/wallet/message.h"

#include "actors/shard/pass/pass.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/push.h"
#include "store/audience.h"
#include "store/notification.h"
#include "store/wallet_due.h"
#include "store/wallet_message.h"

/* Of a pass: its message, its ledger row and its number, its hot row, its due rows. */
enum { WRITES_OF_ONE = 6, LOOKED_MAX = 256 /* members a step */ };
_Static_assert((int)MESSAGE_STEP_MAX *WRITES_OF_ONE + 1 <= (int)BULK_WRITES_MAX,
               "a step writes the rows of each pass and its own");

enum err wallet_message_shown(const struct request *request, uint32_t pass_number,
                              struct wallet_message_shown *shown)
{
	struct wallet_message row = {.pass_number = pass_number};
	struct notification   notification;
	*shown = (struct wallet_message_shown){.is_marked = false};
	enum err err = wallet_message_get(request->view, request->account->id, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	err = notification_get(request->view, request->account->id, row.notification, &notification);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	shown->text = notification.message;
	shown->is_marked = row.flags & WALLET_MESSAGE_IS_MARKED;
	return OK;
}

enum err wallet_message_is_wanted(struct request *request, uint32_t pass_number, bool *is_wanted)
{
	struct hot_at pass;
	*is_wanted = false;
	if (!wallet_kinds_here(request)) return OK;
	enum err err = hot_get(request->view, request->account->id, pass_number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	*is_wanted = pass.now.status == PASS_ACTIVE;
	return OK;
}

/* Is the message that the pass shows younger? */
static enum err is_late(struct request *request, const struct wallet_notice *notice, bool *late)
{
	struct wallet_message row = {.pass_number = notice->pass_number};
	enum err              err = wallet_message_get(request->view, request->account->id, &row);
	*late = !err && row.sent.v > notice->sent.v;
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err wallet_message_to_pass(struct request *request, const struct wallet_notice *notice)
{
	struct wallet_message row = {
	    .pass_number = notice->pass_number, .notification = notice->notification, .sent = notice->sent};
	struct wallet_message_shown before;
	struct hot_at               pass;
	bool                        is_wanted, late = false;
	enum err                    err = wallet_message_is_wanted(request, notice->pass_number, &is_wanted);
	if (!err && is_wanted) err = is_late(request, notice, &late);
	if (err || !is_wanted || late) return err;
	if ((err = hot_get(request->view, request->account->id, notice->pass_number, &pass))) return err;
	if ((err = wallet_message_shown(request, notice->pass_number, &before))) return err;
	if (span_equal(before.text, notice->text) && !before.is_marked) row.flags = WALLET_MESSAGE_IS_MARKED;
	if ((err = wallet_message_put(request->view, pass.account, &row))) return err;
	return pass_change(request, &pass, pass.now, (struct ledger_row){.what = LEDGER_MESSAGE});
}

enum err wallet_message_is_due(struct request *request, struct account_id account, uint32_t number,
                               bool to_audience)
{
	struct wallet_due row = {.account = account,
	                         .kind = to_audience ? WALLET_DUE_MESSAGE : WALLET_DUE_NOTICE,
	                         .number = number,
	                         .due = request->now};
	return wallet_kinds_here(request) ? wallet_due_put(request->view, &row) : OK;
}

/* Steps ----------------------------------------------------------------------------------------------------- */

struct recipients {
	unsigned count;
	uint32_t passes[MESSAGE_STEP_MAX];
	uint32_t next; /* where the next step goes on; 0: there are no more */
};

static enum err add_recipient(struct request *request, uint32_t number, struct recipients *recipients)
{
	struct hot_at pass;
	enum err      err = hot_get(request->view, request->account->id, number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (pass.now.status == PASS_ACTIVE) recipients->passes[recipients->count++] = number;
	return OK;
}

/* Members that joined after the message was sent do not get it. One that has gone has no members. */
static enum err find_members(struct request *request, const struct notification *notification,
                             const struct wallet_due *row, unsigned count_max, struct recipients *recipients)
{
	struct audience audience;
	wall_us         since;
	enum err        err = audience_row_get(request->view, request->account->id, notification->audience,
	                                       &audience);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	uint32_t i = audience_from(&audience, row->position);
	for (unsigned looked = 0; !err && i < audience.count; i++, looked++) {
		uint32_t number = audience_pass(&audience, i);
		if (looked == LOOKED_MAX || recipients->count == count_max) {
			recipients->next = number;
			return OK;
		}
		if (audience_has(&audience, number, &since) && since.v <= row->due.v)
			err = add_recipient(request, number, recipients);
	}
	return err;
}

/* Rows that this message makes due give way to those of single changes. */
static enum err make_bulk(struct request *request, struct wallet_due *row)
{
	enum err err = wallet_due_get(request->view, row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	row->flags |= WALLET_DUE_IS_BULK;
	return wallet_due_put(request->view, row);
}

/* Does one wait already that gives way to nobody? */
static enum err waits_alone(struct request *request, const struct wallet_due *of, bool *waits)
{
	struct wallet_due row = *of;
	enum err          err = wallet_due_get(request->view, &row);
	*waits = !err && !(row.flags & WALLET_DUE_IS_BULK);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* One of an audience. */
static enum err show_member(struct request *request, const struct wallet_notice *notice)
{
	struct wallet_due rows[] = {{.kind = WALLET_DUE_PUSH}, {.kind = WALLET_DUE_GOOGLE}};
	bool              waits[] = {false, false};
	enum err          err = OK;
	for (unsigned i = 0; !err && i < 2; i++) {
		rows[i].account = request->account->id;
		rows[i].number = notice->pass_number;
		err = waits_alone(request, &rows[i], &waits[i]);
	}
	if (!err) err = wallet_message_to_pass(request, notice);
	for (unsigned i = 0; !err && i < 2; i++)
		if (!waits[i]) err = make_bulk(request, &rows[i]);
	return err;
}

static enum err step(struct request *request, const struct notification *notification, struct wallet_due *row,
                     unsigned count_max, unsigned *pushed)
{
	struct recipients    recipients = {.count = 0};
	struct wallet_notice notice = {
	    .notification = row->number, .text = notification->message, .sent = row->due};
	enum err err = OK;
	if (notification->to_audience)
		err = find_members(request, notification, row, count_max, &recipients);
	else
		recipients.passes[recipients.count++] = notification->pass_number;
	for (unsigned i = 0; !err && notice.text.size && i < recipients.count; i++) {
		notice.pass_number = recipients.passes[i];
		err = (notification->to_audience ? show_member : wallet_message_to_pass)(request, &notice);
	}
	row->position = recipients.next;
	*pushed = recipients.count;
	return err;
}

enum err on_WALLET_MESSAGE_STEP(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	unsigned              count_max = (unsigned)arg_integer(&args[ARG_WALLET_MESSAGE_STEP_count], 1);
	struct wallet_due     row = {.account = request->account->id,
	                             .number = (uint32_t)arg_integer(&args[ARG_WALLET_MESSAGE_STEP_number], 0)};
	struct notification   notification;
	enum err              err = notification_get(request->view, row.account, row.number, &notification);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	row.kind = notification.to_audience ? WALLET_DUE_MESSAGE : WALLET_DUE_NOTICE;
	if ((err = wallet_due_get(request->view, &row))) return err == ERR_NOT_FOUND ? OK : err;
	if ((err = step(request, &notification, &row, count_max, &outcome->pushed))) return err;
	return row.position ? wallet_due_put(request->view, &row) : wallet_due_del(request->view, &row);
}
