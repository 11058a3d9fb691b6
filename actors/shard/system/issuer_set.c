/* issuer pause | resume: while paused, creations answer PASS_PROVIDER_UNAVAILABLE and store nothing. */
#include "actors/shard/command.h"
#include "schemas/api/system.h"
#include "store/meta.h"

enum err on_ISSUER_SET(struct request *request, struct outcome *outcome)
{
	bool paused = arg_boolean(&request->args[ARG_ISSUER_SET_paused], false);
	(void)outcome;
	return issuer_paused_put(request->view, paused);
}
