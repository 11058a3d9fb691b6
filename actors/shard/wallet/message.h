#pragma once
#include "actors/shard/command.h"

/* Messages to the holders of passes in wallets. A message becomes a field on the pass's back, and the phone shows it when it next
 * fetches the pass. Errors: as view.h. */

/* A message to a pass of the account of the request. */
struct wallet_notice {
	uint32_t    pass_number, notification;
	struct span text;
	wall_us     sent;
};

/* Would the pass show it: is it in a wallet? */
must_check enum err wallet_message_is_wanted(struct request *request, uint32_t pass_number, bool *is_wanted);

/* Stages it, unless the pass is in no wallet or shows a younger one. Point reads only: allowed after other writes of the command. */
must_check enum err wallet_message_to_pass(struct request *request, const struct wallet_notice *notice);

/* Stages the row of WALLET_DUE from which the shard brings a notification to its recipients; of any account. Nothing without a
 * wallet on this server. */
must_check enum err wallet_message_is_due(struct request *request, struct account_id account, uint32_t number,
                                          bool to_audience);

enum { MESSAGE_STEP_MAX = 8 }; /* passes of one step of WALLET_MESSAGE_STEP that get the message */

/* What an active pass's wallet shows as its last message: its text, of size 0: none; *is_marked: with an invisible character at
 * its end. The text lives as long as the view's values. */
struct wallet_message_shown {
	struct span text;
	bool        is_marked;
};
must_check enum err wallet_message_shown(const struct request *request, uint32_t pass_number,
                                         struct wallet_message_shown *shown);
