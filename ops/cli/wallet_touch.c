/* wallet touch. The shard notes the change first, and a reader then counts the passes that it concerns. */
#include "ops/cli/taken.h"
#include "schemas/api/push.h"

enum outcome wallet_touch(struct cli *cli)
{
	struct taken taken;
	enum outcome outcome = taken_read(cli, MSG_WALLET_TOUCH, &taken);
	_Static_assert((int)ARG_WALLET_TOUCH_pass_template_id == (int)ARG_WALLET_INSTALLED_pass_template_id &&
	                   (int)ARG_WALLET_TOUCH_pass_id == (int)ARG_WALLET_INSTALLED_pass_id,
	               "both messages take the same arguments");

	if (outcome == DONE) outcome = taken_call(cli, &taken, cli_take_nothing, cli);
	taken.message = MSG_WALLET_INSTALLED;
	if (outcome == DONE) outcome = taken_call(cli, &taken, cli_print_part, cli);
	taken_free(&taken);
	return outcome;
}
