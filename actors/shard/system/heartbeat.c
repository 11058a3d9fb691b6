/* HEARTBEAT of the timer: that it came is what counts, and the engine has noted it. */
#include "actors/shard/command.h"

enum err on_HEARTBEAT(struct request *request, struct outcome *outcome)
{
	(void)request, (void)outcome;
	return OK;
}
