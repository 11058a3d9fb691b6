#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/wallet/kind.h"
#include "store/view.h"

/* Credentials for wallets: of Apple one for each pass type, of Google one for each issuer. Those of the nil account are
 * the operator's default, which every shard keeps. Errors: as view.h.
 *
 * WALLET_CREDENTIAL row: account | kind u8 | number u64 -> little-endian: version u8 (1) | warnings u8 |
 * generation u32 | put i64 | not_before i64 | not_after i64 | issuer_not_after i64 | rests_until i64 | rest_s u32 |
 * the sizes of the texts u16 each, in the order of the struct | the texts.
 * The number is the first 8 bytes of the SHA-256 of the name (wallet_number()), so a name has the same number in every
 * account, and again after a removal. The row with number 0 says which credential makes new passes:
 * version u8 (1) | number u64. It is there exactly if there is a credential of the kind. */
struct wallet_credential {
	struct account_id account; /* in whose rows it is; nil: the operator's */
	enum wallet_kind  kind;
	uint64_t          number;
	uint32_t          generation; /* from 1; one more with each renewal */
	uint8_t           warnings;   /* enum wallet_warning, of schemas/wallet/credential.h, or'ed */
	wall_us           put;        /* when this generation came */
	wall_us           not_before, not_after; /* of the certificate; Google: 0 */
	wall_us           issuer_not_after;      /* of the WWDR certificate; Google: 0 */
	wall_us           rests_until;           /* nothing is sent with it before; 0: it does not rest */
	uint32_t          rest_s;                /* seconds of its last rest; 0: none since it last worked */
	struct span       name;                  /* Apple: pass type id; Google: issuer id */
	struct span       owner;                 /* Apple: team id; Google: client_email */
	struct span       key_id;                /* of the p8, or of the service account's key; empty: none */
	struct span       certificate, issuer;   /* Apple: DER, of the pass type and of WWDR */
	struct span       token_uri;             /* Google */
	struct span       last_error;            /* why it rests, for the operator; empty: none */
	struct span       sealed;                /* its private keys: schemas/wallet/sealing.h */
};

/* The operator's default. */
extern const struct account_id wallet_operator;

/* The number of a pass type or issuer; never 0. */
uint64_t wallet_number(struct span name);

must_check enum err wallet_credential_get(struct view *view, struct account_id account, enum wallet_kind kind,
                                          uint64_t number, struct wallet_credential *row);
/* By row->account, row->kind and row->number. */
must_check enum err wallet_credential_put(struct view *view, const struct wallet_credential *row);
/* All of one kind, and which makes new passes. A range read. Errors: also ERR_NOT_FOUND: there was none. */
must_check enum err wallet_credential_del_all(struct view *view, struct account_id account,
                                              enum wallet_kind kind);

/* The credential that makes new passes. Errors: also ERR_NOT_FOUND: there is none. */
must_check enum err wallet_current_get(struct view *view, struct account_id account, enum wallet_kind kind,
                                       struct wallet_credential *row);
must_check enum err wallet_current_put(struct view *view, struct account_id account, enum wallet_kind kind,
                                       uint64_t number);

/* Reads the next of the account's credentials behind row->kind and row->number (all zero: the first). Its texts may point
 * into `room`, until the next call. A range read. Errors: ERR_NOT_FOUND: no more. */
must_check enum err wallet_credential_next(struct view *view, struct account_id account, struct buffer *room,
                                           struct wallet_credential *row);

/* Stored values and back; account, kind and number are in the key. Texts point into `value`. Errors: ERR_DAMAGED. */
must_check enum err wallet_credential_read(struct span value, struct wallet_credential *row);
void                wallet_credential_write(const struct wallet_credential *row, struct buffer *out);
must_check enum err wallet_current_read(struct span value, uint64_t *number);

/* What follows the account in a key, without the number of a part. False: of another form. A number of 0: which one makes new passes. */
enum { WALLET_KEY_BYTES = 1 + 8 };
bool wallet_key_read(struct span rest, enum wallet_kind *kind, uint64_t *number);
