/* Commands of another version of the program. */
#include "actors/rt/other_version.h"
#include "actors/rt/log.h"

enum { AGAIN_US = 10 * US_PER_SEC };

void other_version_log(mono_us *logged, mono_us now)
{
	if (logged->v && now.v - logged->v < AGAIN_US) return;
	*logged = now;
	log_warn("other_version", "reason=\"a command of another version of the program was not answered\"");
}
