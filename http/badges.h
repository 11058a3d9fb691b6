#pragma once
#include "http/thread.h"
#include "schemas/wallet/kind.h"

/* The operator's images for the buttons of a holder's page: apple.svg and google.svg in --wallet-badges, read at the start of the
 * process. Without one a button has words. */
enum { BADGE_BYTES_MAX = 256 << 10 }; /* a larger file counts as missing */

void badges_read(struct service *service);
void badges_free(struct service *service);
/* Of size 0: there is none. */
struct span badge_of(const struct service *service, enum wallet_kind kind);
