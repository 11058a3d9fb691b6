#pragma once
#include "schemas/span.h"

/* The neutral icon of passes without one of their own, in the three sizes that a package needs: PNGs of 29, 58 and 87 pixels.
 * Units: bytes. */
enum { WALLET_ICONS = 3 };
struct wallet_icon {
	const char *file; /* its name in the package */
	struct span png;
};
extern const struct wallet_icon wallet_icons[WALLET_ICONS];
