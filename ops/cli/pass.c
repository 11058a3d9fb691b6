/* pass event|history: what a holder's wallet reports, and what a pass went through. */
#include "ops/cli/cli.h"
#include "schemas/fields/pass.h"

#include <string.h>

static bool is_event(const char *word)
{
	static const char *const events[] = {"installed", "uninstalled", "deactivated", "unblocked"};

	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		if (!strcmp(word, events[i])) return true;
	return false;
}

enum outcome pass_event(struct cli *cli)
{
	bool              block = args_flag(&cli->args, "--block-reinstall");
	const char       *id = args_word(&cli->args), *pass_id = args_word(&cli->args);
	const char       *event = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args) || !is_event(event)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	msgpack_pack_array(&packer, ARGS_PASS_EVENT);
	pack_text(&packer, pass_id);
	pack_text(&packer, event);
	cli_pack_flag(&packer, block);
	return cli_call(cli, MSG_PASS_EVENT, &account, &args);
}

enum outcome pass_history(struct cli *cli)
{
	const char       *id = args_word(&cli->args), *pass_id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	msgpack_pack_array(&packer, ARGS_PASS_HISTORY);
	pack_text(&packer, pass_id);
	return cli_call_list(cli, MSG_PASS_HISTORY, &account, &args);
}
