#pragma once
#include "actors/shard/command.h"
#include "actors/shard/delivery/queue.h"
#include "store/delivery.h"

/* Shared by the commands on deliveries. All of these also return the errors of view.h. */

/* Ends of deliveries that one command writes. First their accounts are noted, then the old ends to remove are looked up (range
 * reads), then each end is staged. */
enum { ENDS_PER_COMMAND_MAX = REPORTS_PER_CALL_MAX };
struct ends {
	unsigned count; /* accounts */
	struct ends_of {
		struct account_id account;
		unsigned          noted;
		uint64_t          last, oldest; /* numbers of the account's ends; oldest 0: it has none */
		unsigned          old_count;    /* oldest ends that are expired or above the limit */
	} of[ENDS_PER_COMMAND_MAX];
};
void                ends_note(struct ends *ends, struct account_id account);
must_check enum err ends_look_up(struct request *request, struct ends *ends);
/* Stages the end of *row, which may be leased or waiting: removes the row and adds one for its end. */
must_check enum err ends_put(struct request *request, struct ends *ends, const struct delivery *row,
                             enum delivery_outcome outcome);

/* Must the delivery still be made? Not if its subscription was deleted or deactivated since, its account has no webhooks any
 * more, or its pass or scan was deleted. `account`: the delivery's. */
must_check enum err delivery_is_wanted(struct view *view, const struct account *account,
                                       const struct delivery *row, bool *wanted);

/* The account of a delivery; NULL if it no longer exists. */
must_check enum err delivery_account(struct request *request, struct account_id id, struct account **account);

/* Packs what the attempt at *row with this lease sends: [lease, url, id, seconds, signature, body]. The request's account must
 * be the delivery's. Errors: also ERR_SEALED (the secret cannot be read); nothing is packed then. */
must_check enum err delivery_render(struct request *request, const uint8_t *lease, const struct delivery *row,
                                    msgpack_packer *packer);

/* Packs how the last attempt ended, as three members of a map (object_msgpack.h): the response's status, or what went wrong
 * and its detail. Each is null where there is none. */
void delivery_pack_last(msgpack_packer *packer, size_t map, unsigned status, unsigned error, unsigned detail);
