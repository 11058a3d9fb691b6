/* status and version of the service. A shard that does not answer is shown as such and the rest is printed: this command is
 * for when something is wrong. */
#include "actors/rt/time.h"
#include "ops/cli/cli.h"
#include "ops/cli/table.h"
#include "schemas/json.h"
#include "schemas/limits.h"

#include <unistd.h>

/* A silent shard must not delay the others for long. */
enum { ANSWER_MS = 1000 };

struct shards {
	struct buffer of[SHARDS_MAX]; /* each one's answer as JSON */
	bool          is_any_silent;
};

static void on_shard(void *user, uint32_t shard, const struct reply *reply)
{
	struct shards *shards = user;
	struct buffer *json = &shards->of[shard];
	char           text[128];

	buffer_clear(json);
	if (!reply->err && !json_render(reply->payload, json)) return;
	shards->is_any_silent = true;
	buffer_clear(json);
	snprintf(text, sizeof text, "{\"index\":%u,\"error\":\"%s\"}", shard,
	         err_code(reply->err ? reply->err : ERR_MALFORMED));
	buffer_text(json, text);
}

/* Prints the supervisor's object, with the shards' as one more member. */
static void print(struct cli *cli, const struct shards *shards)
{
	struct span own = service_status(cli->service);

	buffer_append(&cli->out, own.at, own.size - 1);
	buffer_text(&cli->out, ",\"shards\":[");
	for (uint32_t i = 0; i < service_shards(cli->service); i++) {
		if (i) buffer_byte(&cli->out, ',');
		buffer_append(&cli->out, shards->of[i].at, shards->of[i].size);
	}
	buffer_text(&cli->out, "]}");
}

/* For people, instead of the JSON. */
static enum outcome tabulate(struct cli *cli)
{
	struct arena  arena = {0};
	struct buffer table = {0};
	struct json  *status;
	enum err      err = json_parse(buffer_span(&cli->out), &arena, &status);

	if (!err) {
		status_table(status, time_wall(), &table);
		if (table.failed) err = ERR_NO_MEMORY;
	}
	if (!err) {
		buffer_clear(&cli->out);
		/* The final line end is added by the caller. */
		buffer_append(&cli->out, table.at, table.size - 1);
	}
	buffer_free(&table);
	arena_free(&arena);
	return err ? cli_fail(cli, err, NULL) : DONE;
}

enum outcome status_alone(struct cli *cli)
{
	struct call_spec request = {.message = MSG_SHARD_STATUS, .wait_ms = ANSWER_MS};
	struct shards    shards = {.is_any_silent = false};
	bool             as_json = args_flag(&cli->args, "--json") || !isatty(STDOUT_FILENO);
	enum outcome     outcome;

	if (!args_end(&cli->args)) return MISUSED;
	outcome = cli_call_parts(cli, &request, on_shard, &shards);
	/* Meanwhile the supervisor has learnt more about silent shards. If it does not answer, its first answer
	 * is used. */
	if (outcome == DONE && shards.is_any_silent) (void)!service_ask_again(cli->service);
	if (outcome == DONE) print(cli, &shards);
	for (uint32_t i = 0; i < SHARDS_MAX; i++)
		buffer_free(&shards.of[i]);
	return outcome == DONE && !as_json ? tabulate(cli) : outcome;
}

enum outcome version_alone(struct cli *cli)
{
	if (!args_end(&cli->args)) return MISUSED;
	buffer_text(&cli->out, "{\"version\":\"" STAMPEDE_VERSION "\"}");
	return DONE;
}
