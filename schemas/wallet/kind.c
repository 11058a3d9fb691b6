/* Words for the kinds of wallets. */
#include "schemas/wallet/kind.h"

static const char *const settings[] = {"off", "apple", "google", "on"}; /* by the set of kinds */
enum { SETTINGS = sizeof settings / sizeof *settings };
_Static_assert(SETTINGS == WALLET_BITS_ALL + 1, "a word for each set");

const char *wallet_kind_text(unsigned kind)
{
	return kind == WALLET_APPLE ? "apple" : kind == WALLET_GOOGLE ? "google" : "unknown";
}

const char *wallet_setting_text(unsigned on)
{
	return settings[on & WALLET_BITS_ALL];
}

bool wallet_setting_read(struct span text, unsigned *on)
{
	for (unsigned i = 0; i < SETTINGS; i++) {
		if (!span_is(text, settings[i])) continue;
		*on = i;
		return true;
	}
	return false;
}
