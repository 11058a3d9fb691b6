#pragma once
#include "actors/shard/pass/pass.h"
#include "actors/shard/wallet/changed.h"
#include "actors/shard/wallet/wallet.h"
#include "store/registration.h"
#include "store/wallet_due.h"

/* Phones that have passes in Apple's wallet: what their commands share. Errors: as view.h, and those named. */

/* Service time in which a pass without a phone may find one again. */
enum { WALLET_REMOVAL_S = 60 };

/* The pass that a phone names by the token of its link, deleted ones too; an erased one by its former link, until its phones are
 * forgotten, with an empty id. Errors: ERR_UNAUTHENTICATED: there is none. */
must_check enum err phone_pass_body(struct request *request, struct span token, struct hot_at *pass,
                                    struct body *body);
must_check enum err phone_pass(struct request *request, const msgpack_object *token, struct hot_at *pass);

/* The token by which phones know an erased pass. Errors: ERR_NOT_FOUND: it has no phones any more. */
must_check enum err phone_erased_token(struct request *request, const struct hot_at *pass,
                                       uint8_t token[TOKEN_BYTES]);

/* May a phone have the pass: is it open and not blocked, or did it end less than WALLET_ENDED_DAYS ago? Errors:
 * ERR_UNAUTHENTICATED: no. */
must_check enum err phone_may_have(struct request *request, const struct hot_at *pass);

/* When a pass of status `deactivated` ended. */
must_check enum err phone_pass_ended(struct request *request, const struct hot_at *pass, wall_us *at);

/* The credential of a pass type that serves the account, also one that has ended. Errors: ERR_UNAUTHENTICATED: none. */
must_check enum err phone_credential(struct request *request, struct span type,
                                     struct wallet_credential *row);

/* Stages that a pass becomes active by a wallet, or is removed because no wallet has it; with the event. Point reads. */
must_check enum err phone_pass_installed(struct request *request, const struct hot_at *pass);
must_check enum err phone_pass_removed(struct request *request, const struct hot_at *pass);

/* Stages that a phone has the pass no more. The last one of a pass that a wallet made active begins the time until its removal. */
must_check enum err phone_gives_up(struct request *request, const struct hot_at *pass,
                                   const struct registration *phone, bool is_last);

/* Stages that no wallet has the pass any more. A range read: before any staged write. */
must_check enum err phone_forget_all(struct request *request, const struct hot_at *pass);

/* Stages the time until the removal of a pass that no wallet has any more, and its end because one has it again. Point reads. */
must_check enum err phone_removal_begin(struct request *request, const struct hot_at *pass);
must_check enum err phone_removal_cancel(struct request *request, const struct hot_at *pass);
