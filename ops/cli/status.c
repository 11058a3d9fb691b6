/* status and version: about the service itself. A shard that does not answer is named in its place, and the
 * rest is printed: this command is for when something is wrong. */
#include "ops/cli/cli.h"
#include "schemas/json.h"
#include "schemas/limits.h"

struct shards {
	struct buffer of[SHARDS_MAX]; /* each one's answer as JSON */
};

static void on_shard(void *user, uint32_t shard, const struct reply *reply)
{
	struct shards *shards = user;
	struct buffer *json = &shards->of[shard];
	char           text[128];

	buffer_clear(json);
	if (!reply->err && !json_render(reply->payload, json)) return;
	buffer_clear(json);
	snprintf(text, sizeof text, "{\"index\":%u,\"error\":\"%s\"}", shard,
	         err_code(reply->err ? reply->err : ERR_MALFORMED));
	buffer_text(json, text);
}

/* The supervisor's object, with the shards' as one more member. */
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

enum outcome status_alone(struct cli *cli)
{
	struct request request = {.message = MSG_SHARD_STATUS};
	struct shards  shards = {0};
	enum outcome   outcome;

	if (!args_end(&cli->args)) return MISUSED;
	outcome = cli_call_parts(cli, &request, on_shard, &shards);
	if (outcome == DONE) print(cli, &shards);
	for (uint32_t i = 0; i < SHARDS_MAX; i++)
		buffer_free(&shards.of[i]);
	return outcome;
}

enum outcome version_alone(struct cli *cli)
{
	if (!args_end(&cli->args)) return MISUSED;
	buffer_text(&cli->out, "{\"version\":\"" STAMPEDE_VERSION "\"}");
	return DONE;
}
