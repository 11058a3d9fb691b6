/* Phones with passes in their wallets, of one account: a registration has both its rows and is of a pass that there is; one of a
 * pass that has ended is to be removed. A pass that a wallet made active has a phone, or is about to be removed. Rows are looked
 * up in the other table only, since a look moves the walk through its own. The tally counts what there is. */
#include "store/auditor.h"

#include "schemas/states.h"
#include "schemas/wallet/kind.h"
#include "store/hot.h"
#include "store/registration.h"
#include "store/notification.h"
#include "store/tally.h"
#include "store/wallet_due.h"
#include "store/wallet_google.h"
#include "store/wallet_class.h"
#include "store/wallet_message.h"

/* A phone may keep a pass that has ended for a while. */
static enum err judge_ended(struct auditor *auditor, uint32_t number)
{
	const struct pass_seen *pass = &auditor->passes[number];
	bool                    left;
	if (pass->hot_status == PASS_ACTIVE) return OK;
	if (pass->hot_status != PASS_DEACTIVATED) {
		audit_fault(auditor, TABLE_REGISTRATION, "a phone has pass %u, which is not active", number);
		return OK;
	}
	enum err err = audit_is_left(
	    auditor, cleanup_of_number(auditor->account, CLEANUP_REGISTRATIONS, number), &left);
	if (!err && !left && pass->hot_flags & HOT_ERASED)
		return audit_erased(auditor, TABLE_REGISTRATION, number);
	if (!err && !left)
		audit_fault(auditor, TABLE_REGISTRATION, "a phone has pass %u, which has ended, for ever",
		            number);
	return err;
}

static enum err judge_registration(struct auditor *auditor, const struct audit_rows *rows)
{
	struct registration row;
	if (registration_read(rows->rest, rows->value, &row)) return ERR_MALFORMED;
	if (row.pass_number >= auditor->pass_count) {
		audit_fault(auditor, TABLE_REGISTRATION, "a phone has pass %u, which does not exist",
		            row.pass_number);
		return OK;
	}
	if (auditor->passes[row.pass_number].phones++ == REGISTRATIONS_PER_PASS_MAX)
		audit_fault(auditor, TABLE_REGISTRATION, "more than %d phones have pass %u",
		            (int)REGISTRATIONS_PER_PASS_MAX, row.pass_number);
	if (row.since.v < 0)
		audit_fault(auditor, TABLE_REGISTRATION, "a phone of pass %u has an impossible time",
		            row.pass_number);
	enum err err = registration_device_get(auditor->reader, auditor->account, &row);
	if (err && !audit_is_fault(err)) return err;
	if (err)
		audit_fault(auditor, TABLE_REGISTRATION, "a phone of pass %u is not found by its device",
		            row.pass_number);
	return judge_ended(auditor, row.pass_number);
}

static enum err judge_device(struct auditor *auditor, const struct audit_rows *rows)
{
	struct registration row;
	enum err            err = registration_device_read(rows->rest, &row);
	if (!err) err = registration_get(auditor->reader, auditor->account, &row);
	if (err && !audit_is_fault(err)) return err;
	if (err) audit_fault(auditor, TABLE_REGISTRATION_DEVICE, "a device leads to no phone of a pass");
	return OK;
}

static enum err judge_google(struct auditor *auditor, const struct audit_rows *rows)
{
	struct wallet_google row;
	if (wallet_google_row_read(rows->rest, rows->value, &row)) return ERR_MALFORMED;
	if (row.pass_number >= auditor->pass_count)
		audit_fault(auditor, TABLE_WALLET_GOOGLE, "pass %u does not exist", row.pass_number);
	else
		auditor->passes[row.pass_number].is_at_google = row.state == WALLET_GOOGLE_SAVED;
	return OK;
}

static enum err judge_due(struct auditor *auditor, const struct audit_rows *rows)
{
	struct wallet_due row;
	if (wallet_due_read(rows->row.key, rows->value, &row)) return ERR_MALFORMED;
	bool is_of_pass = row.kind == WALLET_DUE_REMOVAL || row.kind == WALLET_DUE_PUSH ||
	                  row.kind == WALLET_DUE_GOOGLE || row.kind == WALLET_DUE_SAVED ||
	                  row.kind == WALLET_DUE_LEFT;
	if (is_of_pass && row.number >= auditor->pass_count)
		audit_fault(auditor, TABLE_WALLET_DUE, "pass %u does not exist", row.number);
	if (row.kind != WALLET_DUE_REMOVAL || row.number >= auditor->pass_count) return OK;
	struct pass_seen *pass = &auditor->passes[row.number];
	pass->is_removal_due = true;
	if (!(pass->hot_flags & HOT_BY_WALLET) || pass->phones || pass->is_at_google)
		audit_fault(auditor, TABLE_WALLET_DUE, "pass %u is not one to be removed", row.number);
	return OK;
}

static enum err judge_message(struct auditor *auditor, const struct audit_rows *rows)
{
	struct wallet_message row;
	struct notification   notification;
	if (wallet_message_read(rows->rest, rows->value, &row)) return ERR_MALFORMED;
	if (row.pass_number >= auditor->pass_count ||
	    auditor->passes[row.pass_number].hot_status != PASS_ACTIVE) {
		audit_fault(auditor, TABLE_WALLET_MESSAGE, "pass %u is not active", row.pass_number);
		return OK;
	}
	enum err err = notification_get(auditor->reader, auditor->account, row.notification, &notification);
	if (err && !audit_is_fault(err)) return err;
	if (!err && !notification.message.size)
		audit_fault(auditor, TABLE_WALLET_MESSAGE, "pass %u shows notification %u, which is empty",
		            row.pass_number, row.notification);
	if (err)
		audit_fault(auditor, TABLE_WALLET_MESSAGE,
		            "pass %u shows notification %u, which does not exist", row.pass_number,
		            row.notification);
	return OK;
}

static enum err judge_class(struct auditor *auditor, const struct audit_rows *rows)
{
	struct wallet_class row;
	if (wallet_class_read(rows->rest, rows->value, &row)) return ERR_MALFORMED;
	if (!row.template_number || row.template_number > auditor->template_count)
		audit_fault(auditor, TABLE_WALLET_CLASS, "template %u does not exist", row.template_number);
	return OK;
}

/* What the tally says of wallets. A tally that cannot be read is reported with the passes. */
static enum err compare_tally(struct auditor *auditor)
{
	uint32_t     registrations = 0, installed[TALLY_WALLETS_END] = {0};
	struct tally tally;
	enum err     err = tally_get(auditor->reader, auditor->account, &tally);
	if (err) return err == ERR_DAMAGED ? OK : err;
	for (size_t i = 0; i < auditor->pass_count; i++) {
		const struct pass_seen *pass = &auditor->passes[i];
		registrations += pass->phones;
		if (pass->hot_status != PASS_ACTIVE) continue;
		installed[WALLET_APPLE] += pass->phones > 0;
		installed[WALLET_GOOGLE] += pass->is_at_google;
	}
	if (tally.registrations != registrations)
		audit_fault(auditor, TABLE_TALLY, "%u registrations, there are %u", tally.registrations,
		            registrations);
	for (unsigned kind = 1; kind < TALLY_WALLETS_END; kind++)
		if (tally.installed[kind] != installed[kind])
			audit_fault(auditor, TABLE_TALLY, "%u passes in the wallets of %s, there are %u",
			            tally.installed[kind], wallet_kind_text(kind), installed[kind]);
	return OK;
}

enum err audit_registrations(struct auditor *auditor)
{
	enum err err = audit_each(auditor, TABLE_REGISTRATION, judge_registration, NULL);
	if (!err) err = audit_each(auditor, TABLE_REGISTRATION_DEVICE, judge_device, NULL);
	if (!err) err = audit_each(auditor, TABLE_WALLET_GOOGLE, judge_google, NULL);
	if (!err) err = audit_each(auditor, TABLE_WALLET_DUE, judge_due, NULL);
	if (!err) err = audit_each(auditor, TABLE_WALLET_MESSAGE, judge_message, NULL);
	if (!err) err = audit_each(auditor, TABLE_WALLET_CLASS, judge_class, NULL);
	if (!err) err = compare_tally(auditor);
	for (size_t i = 0; !err && i < auditor->pass_count; i++) {
		const struct pass_seen *pass = &auditor->passes[i];
		if (!(pass->hot_flags & HOT_BY_WALLET)) continue;
		if (pass->hot_status != PASS_ACTIVE)
			audit_fault(auditor, TABLE_HOT, "pass %zu: in a wallet, and not active", i);
		else if (!pass->phones && !pass->is_at_google && !pass->is_removal_due)
			audit_fault(auditor, TABLE_HOT, "pass %zu: active in a wallet, and no phone has it",
			            i);
	}
	return err;
}
