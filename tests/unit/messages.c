/* The message table: which process may send which message. */
#include "actors/shard/command.h"
#include "schemas/api/pass.h"

#include <criterion/criterion.h>

static unsigned bit(enum role role)
{
	return 1u << role;
}

Test(messages, every_message_of_a_shard_has_a_handler)
{
	for (unsigned message = 0; message < MSG_COUNT; message++) {
		const struct message_row *row = message_row(message);
		if (row->receiver == ROLE_SHARD)
			cr_expect(handler_of((enum message)message), "%s", row->name);
	}
	cr_expect_null(message_row(MSG_COUNT),
	               "a number beyond the table, as a peer may send it, has no row");
}

Test(messages, messages_that_change_no_data_are_not_writes)
{
	static const enum message reads[] = {MSG_AUTH,      MSG_SHARD_READY, MSG_PASS_GET,
	                                     MSG_PASS_PAGE, MSG_HEARTBEAT,   MSG_FETCH,
	                                     MSG_REPORT,    MSG_STATUS,      MSG_MAINTENANCE_STATUS};
	static const enum message scans[] = {MSG_PASS_LIST,    MSG_PASS_HISTORY,      MSG_ACCOUNT_LIST,
	                                     MSG_SHARD_STATUS, MSG_MAINTENANCE_START, MSG_PASS_IMAGE};
	for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
		cr_expect_eq(message_row(reads[i])->effect, EFFECT_READ, "%s", message_row(reads[i])->name);
	for (size_t i = 0; i < sizeof scans / sizeof *scans; i++)
		cr_expect_eq(message_row(scans[i])->effect, EFFECT_SCAN, "%s", message_row(scans[i])->name);
	cr_expect_eq(message_row(MSG_WALLET_PACKAGE)->effect, EFFECT_SIGN);
}

Test(messages, an_internal_message_has_one_sender)
{
	cr_expect_eq(message_row(MSG_HEARTBEAT)->senders, bit(ROLE_TIMER));
	cr_expect_eq(message_row(MSG_FETCH)->senders, bit(ROLE_SHARD));
	cr_expect_eq(message_row(MSG_FETCH)->receiver, ROLE_TIMER);
	cr_expect_eq(message_row(MSG_REPORT)->receiver, ROLE_SUPERVISOR);
	cr_expect_eq(message_row(MSG_SHARD_STATUS)->senders,
	             bit(ROLE_CLI) | bit(ROLE_HTTP) | SENDERS_KEYLESS);
	cr_expect_eq(message_row(MSG_SHARD_READY)->senders, bit(ROLE_HTTP) | SENDERS_KEYLESS);
}

Test(messages, the_operator_s_messages_are_closed_to_http)
{
	static const enum message own[] = {MSG_ACCOUNT_CREATE,
	                                   MSG_ACCOUNT_SET,
	                                   MSG_ACCOUNT_SHOW,
	                                   MSG_ACCOUNT_LIST,
	                                   MSG_KEY_CREATE,
	                                   MSG_KEY_LIST,
	                                   MSG_KEY_REVOKE,
	                                   MSG_TEMPLATE_PUT,
	                                   MSG_TEMPLATE_LIST,
	                                   MSG_PASS_EVENT,
	                                   MSG_PASS_HISTORY,
	                                   MSG_PASS_ERASE,
	                                   MSG_PASS_EXPORT,
	                                   MSG_ISSUER_SET,
	                                   MSG_MAINTENANCE_START,
	                                   MSG_MAINTENANCE_STATUS,
	                                   MSG_WALLET_MARK,
	                                   MSG_WALLET_APPLE_PUT,
	                                   MSG_WALLET_GOOGLE_PUT,
	                                   MSG_WALLET_CREDENTIAL_SHOW,
	                                   MSG_WALLET_CREDENTIAL_REMOVE,
	                                   MSG_WALLET_CHECK,
	                                   MSG_WALLET_PROBE,
	                                   MSG_WALLET_SHOW,
	                                   MSG_WALLET_RESUME,
	                                   MSG_WALLET_RESUME_DEFAULT,
	                                   MSG_WALLET_LOG};
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		cr_expect_eq(message_row(own[i])->senders, bit(ROLE_CLI), "%s", message_row(own[i])->name);
}

Test(messages, http_needs_a_key_for_all_but_a_page_and_its_own_questions)
{
	for (unsigned message = 0; message < MSG_COUNT; message++) {
		const struct message_row *row = message_row(message);
		bool                      keyless = message == MSG_PASS_PAGE || message == MSG_PASS_IMAGE ||
		               message == MSG_SHARD_STATUS || message == MSG_SHARD_READY ||
		               message == MSG_WALLET_KINDS || message == MSG_WALLET_PACKAGE ||
		               message == MSG_WALLET_KIT || message == MSG_WALLET_GOOGLE_LINK ||
		               message == MSG_WALLET_GOOGLE_CHECK;
		/* The phones of holders show a token of the pass in place of a key, Google its signature. */
		bool is_of_phone = message == MSG_WALLET_REGISTER || message == MSG_WALLET_UNREGISTER ||
		                   message == MSG_WALLET_LIST || message == MSG_WALLET_PHONE_LOG ||
		                   message == MSG_WALLET_PASS || message == MSG_WALLET_GOOGLE_EVENT ||
		                   message == MSG_WALLET_GOOGLE_OFFER;
		cr_expect_eq((row->senders & SENDERS_KEYLESS) != 0, keyless || is_of_phone, "%s", row->name);
		if (is_of_phone) cr_expect(row->works_suspended, "%s", row->name);
		if (keyless) cr_expect_neq(row->effect, EFFECT_WRITE, "%s", row->name);
	}
	cr_expect(message_row(MSG_PASS_PAGE)->works_suspended);
	cr_expect(message_row(MSG_PASS_IMAGE)->works_suspended);
	cr_expect(message_row(MSG_WALLET_PACKAGE)->works_suspended);
	cr_expect(message_row(MSG_WALLET_KIT)->works_suspended);
}

Test(messages, a_suspended_account_may_only_delete_passes)
{
	for (unsigned message = 0; message < MSG_COUNT; message++) {
		const struct message_row *row = message_row(message);
		if (row->senders != bit(ROLE_HTTP)) continue;
		cr_expect_eq(row->works_suspended, message == MSG_PASS_DELETE, "%s", row->name);
	}
}

Test(messages, fields_are_in_the_order_of_the_arguments)
{
	unsigned            count;
	const struct field *fields = message_fields(MSG_PASS_LOYALTY, &count);
	cr_assert_eq(count, ARGS_PASS_LOYALTY);
	cr_expect_str_eq(fields[ARG_PASS_LOYALTY_pass_id].name, "pass_id");
	cr_expect_str_eq(fields[ARG_PASS_LOYALTY_balance_to_add].name, "balance_to_add");
	cr_expect_eq(fields[ARG_PASS_LOYALTY_balance_to_add].max, BALANCE_MAX);
	(void)message_fields(MSG_ACCOUNT_SHOW, &count);
	cr_expect_eq(count, 0);
}

/* Messages of a shard to itself: no other process may send them, since a shard refuses sessions of its own
 * kind. */
Test(messages, a_shards_messages_to_itself_only_end_passes)
{
	for (unsigned message = 0; message < MSG_COUNT; message++) {
		const struct message_row *row = message_row(message);
		bool                      is_own = message == MSG_PASS_ISSUE || message == MSG_PASS_LOOK ||
		              message == MSG_TEMPLATE_FETCHED || message == MSG_CLEAN ||
		              message == MSG_WALLET_REMOVE || message == MSG_WALLET_TOUCH_STEP ||
		              message == MSG_WALLET_MESSAGE_STEP || message == MSG_WALLET_CLASSES_STEP ||
		              message == MSG_WALLET_GOOGLE_SAVED || message == MSG_PASS_PICTURED ||
		              message == MSG_WALLET_LEFT;
		if (row->receiver != ROLE_SHARD) continue;
		cr_expect_eq(row->senders == bit(ROLE_SHARD), is_own, "%s", row->name);
		cr_expect(is_own || !(row->senders & bit(ROLE_SHARD)), "%s", row->name);
	}
}
