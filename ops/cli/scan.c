/* scan delete: a scan that is not to be seen any more. */
#include "ops/cli/cli.h"
#include "schemas/fields/scan.h"

enum outcome scan_delete(struct cli *cli)
{
	const char       *id = args_word(&cli->args), *scan_id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	msgpack_pack_array(&packer, ARGS_SCAN_DELETE);
	pack_text(&packer, scan_id);
	return cli_call(cli, MSG_SCAN_DELETE, &account, &args);
}
