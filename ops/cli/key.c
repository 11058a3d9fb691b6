/* key create|list|revoke. As with an account, the secret is made here and only its hash travels. */
#include "actors/rt/random.h"
#include "ops/cli/cli.h"
#include "schemas/fields/key.h"
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
	id = cli_member(reply->payload, "key_id");
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

enum outcome key_create(struct cli *cli)
{
	const char        *id = args_word(&cli->args);
	struct random_pool pool = {0};
	struct account_id  account, same;
	struct buffer      args = {0};
	msgpack_packer     packer = buffer_packer(&args);
	struct request     request = {.message = MSG_KEY_CREATE, .account = &account};
	uint8_t            secret[32], hash[32];
	char               key[API_KEY_TEXT];
	struct made        made = {.cli = cli, .key = key};
	enum outcome       outcome;

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	random_take(&pool, secret, sizeof secret);
	api_key_make(account, secret, key);
	must(api_key_read(span_str(key), &same, hash));
	msgpack_pack_array(&packer, ARGS_KEY_CREATE);
	pack_bin(&packer, span_of(hash, sizeof hash));
	request.args = buffer_span(&args);
	outcome = cli_call_parts(cli, &request, on_created, &made);
	buffer_free(&args);
	return outcome;
}

enum outcome key_list(struct cli *cli)
{
	const char       *id = args_word(&cli->args);
	struct account_id account;

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	return cli_call_list(cli, MSG_KEY_LIST, &account, NULL);
}

enum outcome key_revoke(struct cli *cli)
{
	const char       *id = args_word(&cli->args), *key_id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	msgpack_pack_array(&packer, ARGS_KEY_REVOKE);
	pack_text(&packer, key_id);
	return cli_call(cli, MSG_KEY_REVOKE, &account, &args);
}
