/* wallet resume. A credential of the operator's rests in each shard by itself, so that every shard is to end it. */
#include "ops/cli/taken.h"

struct resumed {
	struct cli *cli;
	bool        is_of_operator;
};

static void on_resumed(void *user, uint32_t shard, const struct reply *reply)
{
	struct resumed *resumed = user;

	(void)shard;
	if (!cli_part_ok(resumed->cli, reply)) return;
	if (reply->payload->type == MSGPACK_OBJECT_BOOLEAN)
		resumed->is_of_operator = reply->payload->via.boolean;
}

enum outcome wallet_resume(struct cli *cli)
{
	struct taken   taken;
	struct resumed resumed = {.cli = cli};
	enum outcome   outcome = taken_read(cli, MSG_WALLET_RESUME, &taken);

	if (outcome == DONE) outcome = taken_call(cli, &taken, on_resumed, &resumed);
	taken.message = MSG_WALLET_RESUME_DEFAULT;
	taken.has_account = false;
	if (outcome == DONE && resumed.is_of_operator)
		outcome = taken_call(cli, &taken, on_resumed, &resumed);
	taken_free(&taken);
	buffer_text(&cli->out, "{}");
	return outcome;
}
