/* rule put|delete. */
#include "ops/cli/cli.h"
#include "schemas/fields/rule.h"

enum outcome rule_put(struct cli *cli)
{
	return cli_put_file(cli, MSG_RULE_PUT, "--force");
}

enum outcome rule_delete(struct cli *cli)
{
	const char       *id = args_word(&cli->args), *rule = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	msgpack_pack_array(&packer, ARGS_RULE_DELETE);
	pack_text(&packer, rule);
	return cli_call(cli, MSG_RULE_DELETE, &account, &args);
}
