/* The words of attempt.def, the texts of attempt_detail.def. */
#include "schemas/attempt.h"

const char *attempt_word(unsigned error)
{
	static const char *const words[ATTEMPT_ERRORS] = {
#define W(name, word, what) word,
#include "schemas/attempt.def"
#undef W
	};
	return error < ATTEMPT_ERRORS ? words[error] : "unknown";
}

const char *attempt_outcome(unsigned outcome)
{
	if (outcome == ATTEMPT_NONE) return "delivered";
	return outcome == ATTEMPT_ERRORS ? "status" : attempt_word(outcome);
}

const char *attempt_detail_text(unsigned detail)
{
	static const char *const texts[ATTEMPT_DETAILS] = {
#define D(name, text) text,
#include "schemas/attempt_detail.def"
#undef D
	};
	return detail < ATTEMPT_DETAILS ? texts[detail] : "";
}
