#pragma once
#include "actors/shard/issuance/issuance.h"

/* Shared by the files of issuance, and by no others. */

/* ---- account.c ---- */

/* A hash for tables. */
uint32_t issuing_mark(struct account_id id);
/* An account's entry, created if missing; NULL: no memory. */
struct issuing_account *issuing_account_of(struct issuance *issuance, struct account_id id);
/* Call after a change of its queue or fetches: puts it into the ring or takes it out. Frees it if it has neither passes nor
 * fetches. */
void issuance_settle(struct issuance *issuance, struct issuing_account *account);

/* ---- issuance.c ---- */

struct creating *issuance_find(struct issuance *issuance, enum creating_kind kind, struct account_id account,
                               uint32_t number);
/* Takes a pass out of its place. */
void issuance_take(struct issuance *issuance, struct creating *pass);

/* ---- fetch.c ---- */

/* Ends a fetch that no pass wants, unless it is asked: then its answer ends it. */
void fetch_settle(struct issuance *issuance, struct fetch *fetch);
/* Call after a change of an account's fetches: updates whether it is among those that ask. */
void fetch_settle_account(struct issuance *issuance, struct issuing_account *account);
