#pragma once
#include "actors/shard/command.h"
#include "store/wallet_credential.h"

/* What an account's wallets work with: its setting, and the credentials that serve it. Its own credentials come before
 * the operator's. Point reads: also after staged writes. Errors: as view.h, and those named. */

/* The kinds for which this server ever had a credential, a WALLET_BIT() each. */
unsigned wallet_kinds_here(const struct request *request);

/* Is this kind of wallet switched on for the account? It works only if a credential serves it, too. */
bool wallet_is_on(const struct account_row *account, enum wallet_kind kind);

/* The credential that makes the account's new passes, also one that has expired or rests. Errors: ERR_NOT_FOUND: none. */
must_check enum err wallet_credential_now(struct view *view, struct account_id account, enum wallet_kind kind,
                                          struct wallet_credential *row);

/* The credential of a pass type or issuer, by its number, for what was made with it before: in its newest generation.
 * Errors: ERR_NOT_FOUND: none. */
must_check enum err wallet_credential_of(struct view *view, struct account_id account, enum wallet_kind kind,
                                         uint64_t number, struct wallet_credential *row);

/* Is the public URL one that phones take: https? Else their passes name no web service. */
bool wallet_has_service(const struct request *request);

/* The wall clock's time, by which Apple and Google go. Service time may differ from it. */
wall_us wallet_real_time(const struct request *request);

/* Has it ended, or rests it, at that moment of service time? */
bool wallet_credential_ended(const struct wallet_credential *row, wall_us now);
bool wallet_credential_rests(const struct wallet_credential *row, wall_us now);
/* When it ends: the earlier of its certificates' ends; INT64_MAX: never. */
wall_us wallet_credential_end(const struct wallet_credential *row);

/* Whose it is, in log lines and metrics: "default", or the account's id. */
void wallet_owner_text(struct account_id owner, char text[ACCOUNT_ID_TEXT]);

/* Packs a credential as `wallet apple show` and `wallet google show` print it. Errors: the buffer's, as it fails. */
void wallet_credential_pack(const struct wallet_credential *row, wall_us now, msgpack_packer *pk);
