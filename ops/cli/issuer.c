/* issuer pause|resume: a switch on every shard. Repeating it is harmless, so after a failure of one shard the operator repeats
 * the command. */
#include "ops/cli/cli.h"
#include "schemas/api/system.h"

static void on_set(void *user, uint32_t shard, const struct reply *reply)
{
	(void)shard;
	if (!cli_part_ok(user, reply)) return;
}

static enum outcome set(struct cli *cli, bool paused)
{
	struct call_spec request = {.message = MSG_ISSUER_SET};
	struct buffer    args = {0};
	msgpack_packer   packer = buffer_packer(&args);
	enum outcome     outcome;

	if (!args_end(&cli->args)) return MISUSED;
	msgpack_pack_array(&packer, ARGS_ISSUER_SET);
	paused ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer);
	request.args = buffer_span(&args);
	outcome = cli_call_parts(cli, &request, on_set, cli);
	buffer_free(&args);
	buffer_text(&cli->out, "{}");
	return outcome;
}

enum outcome issuer_pause(struct cli *cli)
{
	return set(cli, true);
}

enum outcome issuer_resume(struct cli *cli)
{
	return set(cli, false);
}
