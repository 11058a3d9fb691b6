#pragma once
#include "actors/shard/command.h"
#include "actors/shard/delivery/queue.h"
#include "store/delivery.h"

/* What the commands on deliveries share. Errors of view.h go through all of these. */

/* Ends of deliveries that one command writes. Their accounts are noted first, then what is to be forgotten for them is
 * looked up (range reads), then each end is staged. */
enum { ENDS_PER_COMMAND_MAX = REPORTS_PER_CALL_MAX };
struct ends {
	unsigned count; /* of accounts */
	struct ends_of {
		struct account_id account;
		unsigned          noted;
		uint64_t          last, oldest; /* numbers of the account's ends; oldest 0: there is none */
		unsigned          old_count;    /* how many of the oldest are past their time, or too many */
	} of[ENDS_PER_COMMAND_MAX];
};
void                ends_note(struct ends *ends, struct account_id account);
must_check enum err ends_look_up(struct request *request, struct ends *ends);
/* Stages the end of *row, which may be leased or waiting: its row goes, and one of its end comes. */
must_check enum err ends_put(struct request *request, struct ends *ends, const struct delivery *row,
                             enum delivery_outcome outcome);

/* Is the delivery still to be made? Not when its subscription is deleted, was deactivated since, or its account has webhooks
 * no more; nor when its pass or scan is deleted. `account` is the one that it is of. */
must_check enum err delivery_is_wanted(struct view *view, const struct account *account,
                                       const struct delivery *row, bool *wanted);

/* The account of a delivery; NULL when there is none any more. */
must_check enum err delivery_account(struct request *request, struct account_id id, struct account **account);

/* Packs what the attempt at *row with this lease is to send: [lease, url, id, seconds, signature, body]. The request's account
 * is the one that it is of. Errors: also ERR_SEALED (the secret cannot be read); then nothing is packed. */
must_check enum err delivery_render(struct request *request, const uint8_t *lease, const struct delivery *row,
                                    msgpack_packer *packer);

/* Packs how the last attempt ended, as three members of a map: the answer's status, or what went wrong and its detail; null,
 * where there is none. */
void delivery_pack_last(msgpack_packer *packer, unsigned status, unsigned error, unsigned detail);
