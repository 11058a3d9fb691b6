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

/* Erasing: the shard does it in steps, and says whether there is another one. */
struct erasure {
	struct cli *cli;
	bool        more;
	int64_t     bound; /* below 0: not known yet */
};

static void on_erased(void *user, uint32_t shard, const struct reply *reply)
{
	struct erasure       *erasure = user;
	const msgpack_object *more, *bound;

	(void)shard;
	erasure->more = false;
	if (!cli_part_ok(erasure->cli, reply)) return;
	more = cli_member(reply->payload, "more");
	bound = cli_member(reply->payload, "bound");
	if (!more || more->type != MSGPACK_OBJECT_BOOLEAN || !bound ||
	    bound->type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
		cli_fail(erasure->cli, ERR_MALFORMED, NULL);
		return;
	}
	erasure->more = more->via.boolean;
	erasure->bound = (int64_t)bound->via.u64;
}

static enum outcome erase_step(struct cli *cli, const struct account_id *account, const char *pass_id,
                               struct erasure *erasure)
{
	struct buffer  args = {0};
	msgpack_packer packer = buffer_packer(&args);
	enum outcome   outcome;

	msgpack_pack_array(&packer, ARGS_PASS_ERASE);
	pack_text(&packer, pass_id);
	if (erasure->bound < 0)
		msgpack_pack_nil(&packer);
	else
		msgpack_pack_int64(&packer, erasure->bound);
	struct request request = {.message = MSG_PASS_ERASE, .account = account, .args = buffer_span(&args)};
	outcome = args.failed ? cli_fail(cli, ERR_NO_MEMORY, NULL)
	                      : cli_call_parts(cli, &request, on_erased, erasure);
	buffer_free(&args);
	return outcome;
}

enum outcome pass_erase(struct cli *cli)
{
	const char       *id = args_word(&cli->args), *pass_id = args_word(&cli->args);
	struct erasure    erasure = {.cli = cli, .bound = -1};
	struct account_id account;
	enum outcome      outcome;

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	do
		outcome = erase_step(cli, &account, pass_id, &erasure);
	while (outcome == DONE && erasure.more);
	buffer_text(&cli->out, "{}");
	return outcome;
}
