/* reload: the supervisor reads its configuration again, and answers when all processes use it. */
#include "ops/cli/cli.h"
#include "schemas/json.h"

static void on_reloaded(void *user, uint32_t shard, const struct reply *reply)
{
	struct cli *cli = user;

	(void)shard;
	if (cli_part_ok(cli, reply) && json_render(reply->payload, &cli->out))
		cli_fail(cli, ERR_MALFORMED, NULL);
}

enum outcome reload_alone(struct cli *cli)
{
	struct call_spec request = {.message = MSG_RELOAD};
	enum err         err;

	if (!args_end(&cli->args)) return MISUSED;
	if (cli_open(cli) != DONE) return FAILED;
	err = service_call_supervisor(cli->service, &request, on_reloaded, cli);
	if (err) return cli_fail(cli, err, NULL);
	return cli->err ? FAILED : DONE;
}
