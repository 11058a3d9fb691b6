/* reload: the supervisor reads its configuration again, and answers when all processes use it. */
#include "ops/cli/cli.h"

enum outcome reload_alone(struct cli *cli)
{
	struct call_spec request = {.message = MSG_RELOAD};
	enum err         err;

	if (!args_end(&cli->args)) return MISUSED;
	if (cli_open(cli) != DONE) return FAILED;
	err = service_call_supervisor(cli->service, &request, cli_print_part, cli);
	if (err) return cli_fail(cli, err, NULL);
	return cli->err ? FAILED : DONE;
}
