#pragma once

/* Results of a call to an account's endpoint: attempt.def. */
enum attempt_error {
#define W(name, word, what) ATTEMPT_##name,
#include "schemas/attempt.def"
#undef W
	ATTEMPT_ERRORS
};

/* The printed word; "" for ATTEMPT_NONE, "unknown" for an invalid number. */
const char *attempt_word(unsigned error);

/* The same for counters: the word of an error, "delivered" for ATTEMPT_NONE, and for ATTEMPT_ERRORS "status", a
 * response without success. */
const char *attempt_outcome(unsigned outcome);

/* Finer causes of a failed attempt: attempt_detail.def. */
enum attempt_detail {
#define D(name, text) DETAIL_##name,
#include "schemas/attempt_detail.def"
#undef D
	ATTEMPT_DETAILS
};

/* The printed text; "" for DETAIL_NONE and for an invalid number. */
const char *attempt_detail_text(unsigned detail);
