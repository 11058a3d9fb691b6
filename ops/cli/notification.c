/* notification schedule: a message to a pass or to an audience, at a time. */
#include "ops/cli/cli.h"
#include "schemas/date.h"
#include "schemas/fields/notification.h"

static void pack_optional(msgpack_packer *packer, const char *text)
{
	if (text)
		pack_text(packer, text);
	else
		msgpack_pack_nil(packer);
}

enum outcome notification_schedule(struct cli *cli)
{
	const char *pass_id = args_option(&cli->args, "--pass");
	const char *audience = args_option(&cli->args, "--audience");
	const char *message = args_option(&cli->args, "--message"), *at = args_option(&cli->args, "--at");
	const char *id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);
	wall_us           time;

	if (pass_id && audience)
		snprintf(cli->args.why, sizeof cli->args.why, "give --pass or --audience, not both");
	if (!args_end(&cli->args) || !message || !at || !pass_id == !audience) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	if (!rfc3339_read(span_str(at), &time))
		return cli_fail_field(cli, ERR_INVALID_INPUT, span_str("scheduled_at"),
		                      "--at must be an RFC 3339 date-time such as 2026-11-26T10:00:00Z.");
	msgpack_pack_array(&packer, ARGS_NOTIFICATION_SCHEDULE);
	pack_optional(&packer, pass_id);
	pack_optional(&packer, audience);
	pack_text(&packer, message);
	pack_int(&packer, time.v);
	return cli_call(cli, MSG_NOTIFICATION_SCHEDULE, &account, &args);
}
