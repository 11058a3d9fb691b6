/* The audit of phones with passes: each rule, broken alone in an otherwise sound shop, is reported. */
#include "tests/unit/audit_look.h"

#include "schemas/limits.h"
#include "schemas/wallet/kind.h"
#include "store/cleanup.h"
#include "store/registration.h"
#include "store/notification.h"
#include "store/tally.h"
#include "store/wallet_due.h"
#include "store/wallet_google.h"
#include "store/wallet_class.h"
#include "store/wallet_message.h"

TestSuite(audit_registrations, .init = make_shop, .fini = end);

enum { ACTIVE = 3 };

static struct registration some(uint32_t pass_number)
{
	struct registration row = {
	    .pass_number = pass_number, .credential = 1, .since = {5}, .push_token = span_str("ab")};
	registration_device(span_str("phone"), row.device);
	return row;
}

static void store(struct registration row)
{
	must(!registration_put(s.view, account, &row));
	scratch_save(&s);
}

/* Makes the pass active, with these flags. */
static void activate(uint32_t number, uint8_t flags)
{
	struct hot_at at;
	struct tally  tally;
	must(!hot_get(s.view, account, number, &at));
	struct hot after = at.now;
	after.status = ACTIVE;
	after.flags |= flags;
	put_event((struct ledger_row){.number = number, .what = LEDGER_INSTALLED}, &after);
	must(!hot_get(s.view, account, number, &at));
	must(!hot_put(s.view, &at, &after));
	scratch_save(&s);
	must(!tally_get(s.view, account, &tally));
	must(!tally_move(s.view, account, &at.now, &after));
	scratch_save(&s);
}

static struct row_key by_device(const struct registration *row)
{
	struct row_key key = key_account(account);
	memcpy(key.bytes + key.size, row->device, DEVICE_BYTES);
	put_be64(key.bytes + key.size + DEVICE_BYTES, row->credential);
	put_be32(key.bytes + key.size + DEVICE_BYTES + 8, row->pass_number);
	key.size += DEVICE_BYTES + 8 + 4;
	return key;
}

static void store_due(uint32_t number)
{
	struct wallet_due due = {
	    .account = account, .kind = WALLET_DUE_REMOVAL, .number = number, .due = {9}};
	must(!wallet_due_put(s.view, &due));
	scratch_save(&s);
}

static void break_form(void)
{
	put(TABLE_REGISTRATION, key_u32(account, 3), span_str("x"));
}
static void break_pass(void)
{
	store(some(PASSES));
}
static void break_time(void)
{
	struct registration row = some(3);
	activate(3, 0);
	row.since.v = -1;
	store(row);
}
static void break_device(void)
{
	struct registration row = some(3);
	activate(3, 0);
	store(row);
	del(TABLE_REGISTRATION_DEVICE, by_device(&row));
}
static void break_status(void)
{
	store(some(3));
}
static void break_ended(void)
{
	store(some(DELETED_PASS));
}
static void break_many(void)
{
	struct registration row = some(3);
	activate(3, 0);
	for (unsigned i = 0; i <= REGISTRATIONS_PER_PASS_MAX; i++) {
		row.device[0] = (uint8_t)i;
		store(row);
	}
}
static void break_nothing(void)
{
	struct registration row = some(3);
	put(TABLE_REGISTRATION_DEVICE, by_device(&row), span_of("", 0));
}
static void break_short_device(void)
{
	put(TABLE_REGISTRATION_DEVICE, key_u32(account, 3), span_of("", 0));
}
static void break_due_form(void)
{
	put(TABLE_WALLET_DUE, key_u32(account, 3), span_str("x"));
}
static void break_due_pass(void)
{
	store_due(PASSES);
}
static void break_due_of_issued(void)
{
	store_due(3);
}
static void break_due_with_phone(void)
{
	activate(3, HOT_BY_WALLET);
	store(some(3));
	store_due(3);
}
static void store_message(uint32_t pass_number, uint32_t notification)
{
	struct wallet_message row = {.pass_number = pass_number, .notification = notification};
	must(!wallet_message_put(s.view, account, &row));
	scratch_save(&s);
}
static void break_message_form(void)
{
	put(TABLE_WALLET_MESSAGE, key_u32(account, 3), span_str("x"));
}
static void break_message_of_issued(void)
{
	store_message(3, 0);
}
static void break_message_of_none(void)
{
	store_message(PASSES, 0);
}
static void break_message_lost(void)
{
	activate(3, 0);
	store_message(3, UINT32_MAX);
}
static void break_message_empty(void)
{
	struct notification       row = {.pass_number = 3, .created = {9}, .message = span_of("", 0)};
	struct notification_tally tally;
	activate(3, 0);
	must(!notification_tally_get(s.view, account, &tally));
	must(!notification_add(s.view, account, &row, (wall_us){9}));
	scratch_save(&s);
	store_message(3, tally.made);
}
static void break_class_form(void)
{
	put(TABLE_WALLET_CLASS, key_u32(account, 1), span_str("x"));
}
static void break_class_of_none(void)
{
	must(!wallet_class_put(s.view, account, &(struct wallet_class){.template_number = 9, .issuer = 1}));
	scratch_save(&s);
}
/* The counts of the tally. */
static void count(int registrations, int apple, int google)
{
	must(!tally_registrations(s.view, account, registrations));
	must(!tally_installed(s.view, account, WALLET_APPLE, apple));
	must(!tally_installed(s.view, account, WALLET_GOOGLE, google));
	scratch_save(&s);
}
static void break_registrations(void)
{
	count(1, 0, 0);
}
static void break_installed_apple(void)
{
	activate(3, HOT_BY_WALLET);
	store(some(3));
}
static void break_installed_google(void)
{
	struct wallet_google row = {.pass_number = 3, .state = WALLET_GOOGLE_SAVED};
	activate(3, HOT_BY_WALLET);
	must(!wallet_google_row_put(s.view, account, &row));
	scratch_save(&s);
}
static void break_no_phone(void)
{
	activate(3, HOT_BY_WALLET);
}

static const struct breakage breakages[] = {
    B(form, "table registration, " ACCOUNT "a row of a wrong form"),
    B(pass, "a phone has pass 45, which does not exist"),
    B(time, "a phone of pass 3 has an impossible time"),
    B(device, "a phone of pass 3 is not found by its device"),
    B(status, "a phone has pass 3, which is not active"),
    B(ended, "a phone has pass 4, which has ended, for ever"),
    B(many, "more than 64 phones have pass 3"),
    B(nothing, "table registration_device, " ACCOUNT "a device leads to no phone of a pass"),
    B(short_device, "table registration_device, " ACCOUNT "a device leads to no phone of a pass"),
    B(due_form, "table wallet_due, " ACCOUNT "a row of a wrong form"),
    B(due_pass, "table wallet_due, " ACCOUNT "pass 45 does not exist"),
    B(due_of_issued, "pass 3 is not one to be removed"),
    B(due_with_phone, "pass 3 is not one to be removed"),
    B(message_form, "table wallet_message, " ACCOUNT "a row of a wrong form"),
    B(message_of_issued, "table wallet_message, " ACCOUNT "pass 3 is not active"),
    B(message_of_none, "table wallet_message, " ACCOUNT "pass 45 is not active"),
    B(message_lost, "pass 3 shows notification 4294967295, which does not exist"),
    B(message_empty, "which is empty"),
    B(class_form, "table wallet_class, " ACCOUNT "a row of a wrong form"),
    B(class_of_none, "table wallet_class, " ACCOUNT "template 9 does not exist"),
    B(registrations, "table tally, " ACCOUNT "1 registrations, there are 0"),
    B(installed_apple, "0 passes in the wallets of apple, there are 1"),
    B(installed_google, "0 passes in the wallets of google, there are 1"),
    B(no_phone, "pass 3: active in a wallet, and no phone has it"),
};

Test(audit_registrations, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}

Test(audit_registrations, finds_no_fault_in_sound_ones)
{
	struct cleanup left = cleanup_of_number(account, CLEANUP_REGISTRATIONS, DELETED_PASS);
	activate(2, 0); /* by the operator's word */
	activate(3, HOT_BY_WALLET);
	store(some(3));
	activate(5, HOT_BY_WALLET);
	store_due(5);
	activate(6, 0);
	store(some(6));
	store(some(DELETED_PASS)); /* registered, and not installed */
	count(0, 2, 1);
	struct wallet_google saved = {.pass_number = 6, .state = WALLET_GOOGLE_SAVED};
	must(!wallet_google_row_put(s.view, account, &saved));
	must(!cleanup_put(s.view, &left));
	scratch_save(&s);
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}
