#pragma once

/* How a call to an endpoint of an account ended: attempt.def. */
enum attempt_error {
#define W(name, word, what) ATTEMPT_##name,
#include "schemas/attempt.def"
#undef W
	ATTEMPT_ERRORS
};

/* The word that people are shown; "" for ATTEMPT_NONE, "unknown" for a number that is none. */
const char *attempt_word(unsigned error);

/* The same for counting: the word of an error, "delivered" for ATTEMPT_NONE, and for ATTEMPT_ERRORS "status", an answer that
 * was no success. */
const char *attempt_outcome(unsigned outcome);

/* What an attempt failed of, in one of these words' finer parts: attempt_detail.def. */
enum attempt_detail {
#define D(name, text) DETAIL_##name,
#include "schemas/attempt_detail.def"
#undef D
	ATTEMPT_DETAILS
};

/* The text that people are shown; "" for DETAIL_NONE and for a number that is none. */
const char *attempt_detail_text(unsigned detail);
