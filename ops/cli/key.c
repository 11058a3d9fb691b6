/* key create. As with an account, the secret is made here and only its hash is sent. */
#include "ops/cli/key.h"
#include "schemas/api/key.h"
#include "schemas/json.h"

struct made {
	struct cli *cli;
	const char *key;
};

static void on_created(void *user, uint32_t shard, const struct reply *reply)
{
	const struct made    *made = user;
	struct cli           *cli = made->cli;
	const msgpack_object *id;

	(void)shard;
	if (!cli_part_ok(cli, reply)) return;
	id = msgpack_member(reply->payload, "key_id");
	if (!id || id->type != MSGPACK_OBJECT_STR) {
		cli_fail(cli, ERR_MALFORMED, NULL);
		return;
	}
	buffer_text(&cli->out, "{\"key_id\":");
	json_quote(span_of(id->via.str.ptr, id->via.str.size), &cli->out);
	buffer_text(&cli->out, ",\"api_key\":");
	json_quote(span_str(made->key), &cli->out);
	buffer_byte(&cli->out, '}');
}

void cli_key_make(struct random_pool *pool, struct taken *taken, unsigned argument, char key[API_KEY_TEXT])
{
	struct account_id same;
	uint8_t           secret[32], hash[32];

	random_take(pool, secret, sizeof secret);
	api_key_make(taken->account, secret, key);
	must(api_key_read(span_str(key), &same, hash));
	taken_bin(taken, argument, span_of(hash, sizeof hash));
}

enum outcome key_create(struct cli *cli)
{
	struct random_pool pool = {0};
	struct taken       taken;
	char               key[API_KEY_TEXT];
	struct made        made = {.cli = cli, .key = key};
	enum outcome       outcome = taken_read(cli, MSG_KEY_CREATE, &taken);

	if (outcome == DONE) {
		cli_key_make(&pool, &taken, ARG_KEY_CREATE_key_hash, key);
		outcome = taken_call(cli, &taken, on_created, &made);
	}
	taken_free(&taken);
	return outcome;
}
