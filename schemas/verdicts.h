#pragma once

/* A scan's verdict, by its number in tables. */
enum scan_verdict {
#define V(name, status, reason) SCAN_##name,
#include "schemas/verdicts.def"
#undef V
	SCAN_VERDICTS
};
