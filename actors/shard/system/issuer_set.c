/* issuer pause | resume: while paused, creations answer PASS_PROVIDER_UNAVAILABLE and store nothing. */
#include "actors/shard/system/issuer_set.h"
#include "actors/shard/command.h"

static const struct span key = {(const uint8_t *)"issuer_paused", 13};

enum err issuer_paused_get(struct view *view, bool *paused)
{
	struct span value;
	enum err    err = view_get(view, TABLE_META, key, &value);
	*paused = !err && value.size == 1 && value.at[0];
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err on_ISSUER_SET(struct request *request, struct outcome *outcome)
{
	uint8_t paused = arg_boolean(&request->args[ARG_ISSUER_SET_paused], false);
	(void)outcome;
	return write_put(view_writes(request->view), TABLE_META, key, span_of(&paused, 1));
}
