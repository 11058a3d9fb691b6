#pragma once
#include "actors/shard/pass/pass.h"
#include "schemas/wallet/google_pass.h"
#include "store/wallet_credential.h"
#include "store/wallet_google.h"

/* Passes in Google's wallet: what commands share. Point reads, allowed after other writes of the command. Errors: as view.h. */

/* Has its holder saved it there, as far as Google has said? */
must_check enum err google_is_saved(struct request *request, struct account_id account, uint32_t pass_number,
                                    bool *is_saved);

/* The service account that acts for a pass at Google. While Google has its object, that is the one of its issuer, if it is still there;
 * while nobody has saved it there, only if that one works. Else it is the one for new passes. Errors: also ERR_NOT_FOUND: none. */
must_check enum err google_credential(struct request *request, struct account_id account,
                                      uint32_t pass_number, struct wallet_credential *credential);

/* When a change is due at Google, in service time. A saved pass: now. An offered one: now, or when Google may be asked
 * again (row.quiet). Others: INT64_MAX, never. */
must_check enum err google_update_at(struct request *request, struct account_id account, uint32_t pass_number,
                                     wall_us *at);

/* Stages that its holder has saved it: its row (row->quiet as given), and that it is active. Point reads. In google_saved.c. */
must_check enum err google_pass_saved(struct request *request, const struct hot_at *pass,
                                      struct wallet_google *row);

/* Stages a row, and counts its pass among those that are saved, or no more; `was`: its state before, 0: it had none. */
must_check enum err google_row_change(struct request *request, const struct hot_at *pass,
                                      const struct wallet_google *row, unsigned was);

/* Stages that the pass is saved there no more, by the operator's word. */
must_check enum err google_forget(struct request *request, const struct hot_at *pass);

/* Stages, of a pass that is erased, that Google is to forget it: its object keeps the name that the former link's token gives. */
must_check enum err google_pass_erased(struct request *request, const struct hot_at *pass,
                                       const uint8_t token[TOKEN_BYTES]);
