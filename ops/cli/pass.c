/* pass erase. */
#include "ops/cli/taken.h"
#include "schemas/api/pass_command.h"

#include <string.h>

/* The shard erases in steps, and says whether there is another one. */
struct erasure {
	struct cli *cli;
	bool        more;
	int64_t     bound;
};

static void on_erased(void *user, uint32_t shard, const struct reply *reply)
{
	struct erasure       *erasure = user;
	const msgpack_object *more, *bound;

	(void)shard;
	erasure->more = false;
	if (!cli_part_ok(erasure->cli, reply)) return;
	more = msgpack_member(reply->payload, "more");
	bound = msgpack_member(reply->payload, "bound");
	if (!more || more->type != MSGPACK_OBJECT_BOOLEAN || !bound ||
	    bound->type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
		cli_fail(erasure->cli, ERR_MALFORMED, NULL);
		return;
	}
	erasure->more = more->via.boolean;
	erasure->bound = (int64_t)bound->via.u64;
}

enum outcome pass_erase(struct cli *cli)
{
	struct erasure erasure = {.cli = cli};
	struct taken   taken;
	enum outcome   outcome = taken_read(cli, MSG_PASS_ERASE, &taken);

	while (outcome == DONE && (outcome = taken_call(cli, &taken, on_erased, &erasure)) == DONE &&
	       erasure.more)
		taken_int(&taken, ARG_PASS_ERASE_bound, erasure.bound);
	taken_free(&taken);
	buffer_text(&cli->out, "{}");
	return outcome;
}
