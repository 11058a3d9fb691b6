/* The codecs of rows of wallets, for the fuzz target of rows. */
#include "tests/fuzz/wallet_rows.h"

#include "store/registration.h"
#include "store/wallet_credential.h"
#include "store/pass_pictures.h"
#include "store/wallet_due.h"
#include "store/wallet_google.h"
#include "store/wallet_class.h"
#include "store/wallet_message.h"
#include "tests/fuzz/fuzz.h"

void wallet_check_credential(struct span bytes)
{
	struct wallet_credential row = {.number = 0}, again;
	struct buffer            packed = {0};
	uint64_t                 number;
	enum err                 err = wallet_current_read(bytes, &number);
	must(err == ERR_DAMAGED || (!err && number));
	err = wallet_credential_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	wallet_credential_write(&row, &packed);
	must(span_equal(buffer_span(&packed), bytes));
	must(wallet_credential_read(buffer_span(&packed), &again) == OK && wallet_number(again.name));
	buffer_free(&packed);
}

void wallet_check_registration(struct scratch *s, struct account_id account, struct span bytes)
{
	struct supply       supply = {bytes};
	struct span         key = supply_bytes(&supply, 28); /* behind the account */
	struct span         value = supply_rest(&supply);
	struct registration row, again;
	uint8_t             packed_row[REGISTRATION_BYTES_MAX];
	enum err            err = registration_device_read(key, &again);
	must(err == OK || err == ERR_DAMAGED);
	err = registration_read(key, value, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	must(span_equal(span_of(packed_row, registration_write(&row, packed_row)), value));
	again = row;
	must(registration_put(s->view, account, &row) == OK);
	must(registration_get(s->view, account, &again) == OK && again.since.v == row.since.v);
	must(registration_device_get(s->view, account, &row) == OK);
	must(registration_del(s->view, account, &row) == OK);
}

void wallet_check_due(struct scratch *s, struct span bytes)
{
	struct supply     supply = {bytes};
	struct span       key = supply_bytes(&supply, 15);
	struct wallet_due row, again;
	enum err          err = wallet_due_read(key, supply_rest(&supply), &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	again = row;
	must(wallet_due_put(s->view, &row) == OK && wallet_due_get(s->view, &again) == OK);
	must(again.due.v == row.due.v && again.since.v == row.since.v && again.tries == row.tries);
	must(again.flags == row.flags && again.position == row.position);
}

void wallet_check_message(struct scratch *s, struct account_id account, struct span bytes)
{
	struct supply         supply = {bytes};
	struct span           key = supply_bytes(&supply, 4); /* behind the account */
	struct wallet_message row, again;
	enum err              err = wallet_message_read(key, supply_rest(&supply), &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	again = row;
	must(wallet_message_put(s->view, account, &row) == OK);
	must(wallet_message_get(s->view, account, &again) == OK);
	must(again.notification == row.notification && again.flags == row.flags &&
	     again.sent.v == row.sent.v);
}

void wallet_check_class(struct scratch *s, struct account_id account, struct span bytes)
{
	struct supply       supply = {bytes};
	struct span         key = supply_bytes(&supply, 4); /* behind the account */
	struct wallet_class row, again;
	enum err            err = wallet_class_read(key, supply_rest(&supply), &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	again = row;
	must(wallet_class_put(s->view, account, &row) == OK);
	must(wallet_class_get(s->view, account, &again) == OK);
	must(again.issuer == row.issuer);
}

void wallet_check_google(struct scratch *s, struct account_id account, struct span bytes)
{
	struct supply        supply = {bytes};
	struct span          key = supply_bytes(&supply, 4); /* behind the account */
	struct wallet_google row, again;
	enum err             err = wallet_google_row_read(key, supply_rest(&supply), &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	again = row;
	must(wallet_google_row_put(s->view, account, &row) == OK &&
	     wallet_google_row_get(s->view, account, &again) == OK);
	must(again.state == row.state && again.issuer == row.issuer && again.callback_ms == row.callback_ms);
	must(again.message == row.message && again.notices[0].v == row.notices[0].v);
}

void wallet_check_pictures(struct scratch *s, struct account_id account, struct span bytes)
{
	struct pass_pictures row, again;
	enum err             err = pass_pictures_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	must(pass_pictures_put(s->view, account, 1, &row) == OK);
	must(pass_pictures_get(s->view, account, 1, &again) == OK);
	must(again.begun.v == row.begun.v && again.is_given_up == row.is_given_up);
	for (unsigned i = 0; i < PICTURES; i++)
		must(span_equal(again.wanted[i], row.wanted[i]) && span_equal(again.kept[i], row.kept[i]));
}
