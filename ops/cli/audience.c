/* audience put: which passes a notification can be sent to together. */
#include "ops/cli/cli.h"
#include "schemas/fields/audience.h"

static void pack_passes(struct cli *cli, const char *first, msgpack_packer *packer)
{
	struct buffer  texts = {0};
	msgpack_packer text = buffer_packer(&texts);
	size_t         count = 0;
	const char    *pass_id = first;

	for (; pass_id; pass_id = args_option(&cli->args, "--pass"), count++)
		pack_text(&text, pass_id);
	while ((pass_id = args_word_or_none(&cli->args))) {
		pack_text(&text, pass_id);
		count++;
	}
	msgpack_pack_array(packer, count);
	packer->callback(packer->data, (const char *)texts.at, texts.size);
	buffer_free(&texts);
}

enum outcome audience_put(struct cli *cli)
{
	const char *audience = args_option(&cli->args, "--id"), *name = args_option(&cli->args, "--name");
	const char *pass_id = args_option(&cli->args, "--pass"), *id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);
	enum outcome      outcome = MISUSED;

	msgpack_pack_array(&packer, ARGS_AUDIENCE_PUT);
	if (audience)
		pack_text(&packer, audience);
	else
		msgpack_pack_nil(&packer);
	pack_text(&packer, name ? name : "");
	pack_passes(cli, pass_id, &packer);
	if (args_end(&cli->args) && name && pass_id) outcome = cli_account(cli, id, &account) ? DONE : FAILED;
	if (outcome == DONE) return cli_call(cli, MSG_AUDIENCE_PUT, &account, &args);
	buffer_free(&args);
	return outcome;
}
