#pragma once

/* A pass's state, by its number in tables and messages. */
enum pass_status {
#define S(name, text) PASS_##name,
#include "schemas/states.def"
#undef S
	PASS_STATUSES
};

/* The state as the interface prints it; "unknown" for a number that is none. */
const char *pass_status_text(unsigned status);
