/* reader put|list: what scans passes, and what it is called. */
#include "ops/cli/cli.h"
#include "schemas/fields/reader.h"

enum outcome reader_put(struct cli *cli)
{
	const char       *id = args_option(&cli->args, "--id"), *name = args_option(&cli->args, "--name");
	const char       *account_id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args) || !id || !name) return MISUSED;
	if (!cli_account(cli, account_id, &account)) return FAILED;
	msgpack_pack_array(&packer, ARGS_READER_PUT);
	pack_text(&packer, id);
	pack_text(&packer, name);
	return cli_call(cli, MSG_READER_PUT, &account, &args);
}

enum outcome reader_list(struct cli *cli)
{
	const char       *id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	msgpack_pack_array(&packer, ARGS_READER_LIST);
	return cli_call_list(cli, MSG_READER_LIST, &account, &args);
}
