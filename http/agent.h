#pragma once
#include "schemas/span.h"

#include <stdbool.h>

/* Which wallets a holder's device offers, by the text of its User-Agent. Pure. Errors: none: any text is something. */
enum agent {
	AGENT_OTHER, /* any wallet: a computer, or nobody we know */
	AGENT_APPLE, /* iPhone, iPad, Mac */
	AGENT_ANDROID,
	AGENT_IN_APP, /* a view inside another app, which cannot hand a pass to a wallet */
};
enum agent agent_of(struct span user_agent);
