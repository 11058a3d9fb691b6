/* card link|unlink: which physical card stands for a pass. */
#include "ops/cli/cli.h"
#include "schemas/fields/card.h"

enum outcome card_link(struct cli *cli)
{
	const char *pass_id = args_option(&cli->args, "--pass"), *code = args_option(&cli->args, "--code");
	const char *id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args) || !pass_id || !code) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	msgpack_pack_array(&packer, ARGS_CARD_LINK);
	pack_text(&packer, pass_id);
	pack_text(&packer, code);
	return cli_call(cli, MSG_CARD_LINK, &account, &args);
}

enum outcome card_unlink(struct cli *cli)
{
	const char       *id = args_word(&cli->args), *card_id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	msgpack_pack_array(&packer, ARGS_CARD_UNLINK);
	pack_text(&packer, card_id);
	return cli_call(cli, MSG_CARD_UNLINK, &account, &args);
}
