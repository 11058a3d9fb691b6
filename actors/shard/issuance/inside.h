#pragma once
#include "actors/shard/issuance/issuance.h"

/* What the files of issuance share; nobody else includes this. */

/* ---- account.c ---- */

/* For hash tables. */
uint32_t issuing_mark(struct account_id id);
/* An account's, made if it is new; NULL without memory. */
struct issuing_account *issuing_account_of(struct issuance *issuance, struct account_id id);
/* After a change of its line or fetches: in the ring or not; gone when it has neither passes nor fetches. */
void issuance_settle(struct issuance *issuance, struct issuing_account *account);

/* ---- issuance.c ---- */

struct creating *issuance_find(struct issuance *issuance, enum creating_kind kind, struct account_id account,
                               uint32_t number);
/* Takes a pass out of its place. */
void issuance_take(struct issuance *issuance, struct creating *pass);

/* ---- fetch.c ---- */

/* Ends one that no pass wants, unless it is asked: its answer ends it then. */
void fetch_settle(struct issuance *issuance, struct fetch *fetch);
/* After a change of what an account has asked for or is to ask for: among those that ask, or not. */
void fetch_settle_account(struct issuance *issuance, struct issuing_account *account);
