/* The states of passes, as people and the interface read them. */
#include "schemas/states.h"

const char *pass_status_text(unsigned status)
{
	static const char *const texts[PASS_STATUSES] = {
#define S(name, text) text,
#include "schemas/states.def"
#undef S
	};
	return status < PASS_STATUSES ? texts[status] : "unknown";
}
