/* delivery list: what became, or is to become, of an account's webhooks. */
#include "ops/cli/cli.h"
#include "schemas/fields/delivery.h"

enum outcome delivery_list(struct cli *cli)
{
	const char       *subscription = args_option(&cli->args, "--subscription");
	const char       *id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	msgpack_pack_array(&packer, ARGS_DELIVERY_LIST);
	if (subscription)
		pack_text(&packer, subscription);
	else
		msgpack_pack_nil(&packer);
	return cli_call_list(cli, MSG_DELIVERY_LIST, &account, &args);
}
