/* wallet check: the steps are printed also when one has failed. */
#include "ops/cli/taken.h"

/* The answer, and whether all steps went well. */
struct rehearsal {
	struct cli *cli;
	bool        is_good;
};

static void on_steps(void *user, uint32_t shard, const struct reply *reply)
{
	struct rehearsal     *rehearsal = user;
	const msgpack_object *ok;

	cli_print_part(rehearsal->cli, shard, reply);
	ok = reply->err ? NULL : cli_member(reply->payload, "ok");
	rehearsal->is_good = ok && ok->type == MSGPACK_OBJECT_BOOLEAN && ok->via.boolean;
}

/* Printed here, because a command that fails prints no result itself. */
static enum outcome fail(struct cli *cli)
{
	buffer_byte(&cli->out, '\n');
	if (cli->out.failed || fwrite(cli->out.at, 1, cli->out.size, stdout) != cli->out.size ||
	    fflush(stdout))
		return cli_fail(cli, ERR_IO, "The answer cannot be written to standard output.");
	return cli_fail(cli, ERR_RESOURCE_CONFLICT, "A step failed: standard output says which.");
}

enum outcome wallet_check(struct cli *cli)
{
	struct taken     taken;
	struct rehearsal rehearsal = {.cli = cli};
	enum outcome     outcome = taken_read(cli, MSG_WALLET_CHECK, &taken);

	if (outcome == DONE) outcome = taken_call(cli, &taken, on_steps, &rehearsal);
	taken_free(&taken);
	return outcome == DONE && !rehearsal.is_good ? fail(cli) : outcome;
}
