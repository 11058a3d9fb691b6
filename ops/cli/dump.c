/* journal dump, table dump: print the files of an offline shard. A separate process reads and prints them, because damaged
 * tables may kill their reader. This file passes on the arguments and reports a failure. */
#include "ops/cli/offline.h"
#include "schemas/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A bad argument that only the reader can check, such as an unknown table, is wrong usage, too. */
static enum outcome take_refusal(struct cli *cli, struct span refusal)
{
	struct arena       arena = {0};
	struct json       *value;
	const struct json *code, *message;
	enum outcome       outcome = FAILED;
	bool is_usage = !json_parse(refusal, &arena, &value) && (code = json_member(value, "code")) &&
	                span_is(code->text, err_code(ERR_BAD_OPTION)) &&
	                (message = json_member(value, "message"));

	if (is_usage) {
		snprintf(cli->args.why, sizeof cli->args.why, "%.*s", (int)message->text.size,
		         (const char *)message->text.at);
		outcome = MISUSED;
	} else {
		outcome = offline_fail(cli, refusal);
	}
	arena_free(&arena);
	return outcome;
}

static enum outcome dump(struct cli *cli, struct offline *work)
{
	struct bar    bar = {0};
	struct buffer refusal = {0};
	bool          done = false;
	int           signal = 0;
	enum err      err = offline_run(work, &bar, &refusal, &done, &signal);
	enum outcome  outcome = DONE;
	char          text[80];

	if (done && err == ERR_PEER_GONE) err = OK; /* it prints nothing besides its lines */
	if (err == ERR_PEER_GONE && signal)
		snprintf(text, sizeof text, "The files crash their reader (signal %d).", signal);
	else
		snprintf(text, sizeof text, "Its reader ended without a word.");
	if (err == ERR_PEER_GONE)
		outcome = cli_fail(cli, ERR_DAMAGED, text);
	else if (err)
		outcome = cli_fail(cli, err, err == ERR_UNSUPPORTED ? OFFLINE_NOT_RUN : NULL);
	else if (!done)
		outcome = take_refusal(cli, buffer_span(&refusal));
	buffer_free(&refusal);
	return outcome;
}

enum outcome journal_dump(struct cli *cli)
{
	struct offline work = {.role = "dump", .prints = true};
	struct number  from = args_number(&cli->args, "--from");
	char           seq[24];

	work.data = args_word(&cli->args);
	if (!args_end(&cli->args) || !*work.data) return MISUSED;
	snprintf(seq, sizeof seq, "%" PRId64, from.value);
	if (from.given) work.from = seq;
	return dump(cli, &work);
}

enum outcome table_dump(struct cli *cli)
{
	struct offline work = {.role = "dump", .prints = true};

	work.from = args_option(&cli->args, "--key");
	work.data = args_word(&cli->args);
	work.table = args_word(&cli->args);
	if (!args_end(&cli->args) || !*work.data || !*work.table) return MISUSED;
	if (work.from && !*work.from) work.from = NULL; /* empty: every key begins with it */
	return dump(cli, &work);
}
