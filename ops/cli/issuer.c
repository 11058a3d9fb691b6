/* issuer pause|resume: a switch on every shard. Repeating it is harmless, so after a failure of one shard the operator repeats
 * the command. */
#include "ops/cli/cli.h"
#include "schemas/api/system.h"

static enum outcome set(struct cli *cli, bool paused)
{
	struct call_spec request = {.message = MSG_ISSUER_SET};
	struct buffer    args = {0};
	msgpack_packer   packer = buffer_packer(&args);

	if (!args_end(&cli->args)) return MISUSED;
	msgpack_pack_array(&packer, ARGS_ISSUER_SET);
	paused ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer);
	buffer_text(&cli->out, "{}");
	return cli_call_packed(cli, request, &args, cli_take_nothing, cli);
}

enum outcome issuer_pause(struct cli *cli)
{
	return set(cli, true);
}

enum outcome issuer_resume(struct cli *cli)
{
	return set(cli, false);
}
