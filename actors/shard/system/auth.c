/* AUTH: nothing beyond what the engine has checked already: the key, the account's state. The frontend sends
 * it before it tells a caller what is wrong with a request it would not even have passed on. */
#include "actors/shard/command.h"

enum err on_AUTH(struct request *request, struct outcome *outcome)
{
	(void)request, (void)outcome;
	return OK;
}
