/* clock show|advance: service time. Every shard has its own clock, and all are corrected towards the wall clock. Each shard
 * gets the offset from the wall clock as an absolute value, not as a step, so repeating it is harmless. */
#include "ops/cli/cli.h"
#include "schemas/api/system.h"
#include "schemas/json.h"
#include "schemas/limits.h"

#include <inttypes.h>

/* The furthest clock among the shards' answers. */
struct clocks {
	struct cli *cli;
	int64_t     offset;
	char        now[64];
};

static void on_clock(void *user, uint32_t shard, const struct reply *reply)
{
	struct clocks        *clocks = user;
	const msgpack_object *now, *offset;

	(void)shard;
	if (!cli_part_ok(clocks->cli, reply)) return;
	now = msgpack_member(reply->payload, "now");
	offset = msgpack_member(reply->payload, "offset");
	if (!now || now->type != MSGPACK_OBJECT_STR || !offset ||
	    offset->type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
		cli_fail(clocks->cli, ERR_MALFORMED, NULL);
		return;
	}
	if (arg_integer(offset, 0) > clocks->offset) clocks->offset = arg_integer(offset, 0);
	snprintf(clocks->now, sizeof clocks->now, "%.*s", (int)now->via.str.size, now->via.str.ptr);
}

static enum outcome rpc(struct clocks *clocks)
{
	struct call_spec request = {.message = MSG_CLOCK_SHOW};

	return cli_call_parts(clocks->cli, &request, on_clock, clocks);
}

static enum outcome set(struct clocks *clocks, int64_t offset)
{
	struct call_spec request = {.message = MSG_CLOCK_SET};
	struct buffer    args = {0};
	msgpack_packer   packer = buffer_packer(&args);

	msgpack_pack_array(&packer, ARGS_CLOCK_SET);
	pack_int(&packer, offset);
	return cli_call_packed(clocks->cli, request, &args, on_clock, clocks);
}

static enum outcome print(const struct clocks *clocks, enum outcome outcome)
{
	struct buffer *out = &clocks->cli->out;

	if (outcome != DONE) return outcome;
	buffer_text(out, "{\"now\":");
	json_quote(span_str(clocks->now), out);
	buffer_byte(out, '}');
	return DONE;
}

enum outcome clock_show(struct cli *cli)
{
	struct clocks clocks = {.cli = cli};

	if (!args_end(&cli->args)) return MISUSED;
	return print(&clocks, rpc(&clocks));
}

enum outcome clock_advance(struct cli *cli)
{
	struct clocks clocks = {.cli = cli};
	struct number step = args_word_duration(&cli->args);
	int64_t       most;
	char          message[120];
	enum outcome  outcome;

	if (!args_end(&cli->args)) return MISUSED;
	if ((outcome = rpc(&clocks)) != DONE) return outcome;
	most = (CLOCK_OFFSET_MAX - clocks.offset) / US_PER_SEC;
	if (step.value > most) {
		snprintf(message, sizeof message,
		         "The clock cannot be moved that far: %" PRId64 "d, or %" PRId64 "s, is the most.",
		         most / 86400, most);
		return cli_fail(cli, ERR_INVALID_INPUT, message);
	}
	return print(&clocks, set(&clocks, clocks.offset + step.value * US_PER_SEC));
}
