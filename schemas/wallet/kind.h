#pragma once
#include "schemas/span.h"

/* The kinds of wallets, and an account's setting of them. The numbers are on disk and on the wire. A set of kinds is
 * WALLET_BIT(kind), or'ed. Errors: none. */
enum wallet_kind { WALLET_APPLE = 1, WALLET_GOOGLE = 2 };
enum { WALLET_KIND_END = 3 };
#define WALLET_BIT(kind) (1u << ((kind)-1))
#define WALLET_BITS_ALL  (WALLET_BIT(WALLET_APPLE) | WALLET_BIT(WALLET_GOOGLE))

/* "apple", "google"; of any other number "unknown". */
const char *wallet_kind_text(unsigned kind);

/* The setting: on (both kinds), off, apple or google (that one alone). `on` is the set of kinds that are on. */
const char *wallet_setting_text(unsigned on);
bool        wallet_setting_read(struct span text, unsigned *on);
