/* template put|list. */
#include "ops/cli/cli.h"

enum outcome template_put(struct cli *cli)
{
	return cli_put_file(cli, MSG_TEMPLATE_PUT, NULL);
}

enum outcome template_list(struct cli *cli)
{
	const char       *id = args_word(&cli->args);
	struct account_id account;

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	return cli_call_list(cli, MSG_TEMPLATE_LIST, &account, NULL);
}
