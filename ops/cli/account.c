/* account create|set|show|list. The CLI itself makes the id and the first key: the id decides the shard, and
 * a key's secret goes no further than this process; the shard gets its hash. */
#include "actors/rt/random.h"
#include "ops/cli/cli.h"
#include "schemas/fields/account.h"
#include "schemas/json.h"

#include <stdlib.h>
#include <string.h>

static void ignore_answer(void *user, uint32_t shard, const struct reply *reply)
{
	(void)shard;
	if (!cli_part_ok(user, reply)) return;
}

static enum outcome create(struct cli *cli, const struct account_id *account, const char *key,
                           struct buffer *args)
{
	struct request request = {
	    .message = MSG_ACCOUNT_CREATE, .account = account, .args = buffer_span(args)};
	char         id[ACCOUNT_ID_TEXT];
	enum outcome outcome = cli_call_parts(cli, &request, ignore_answer, cli);

	if (outcome != DONE) return outcome;
	account_id_text(*account, id);
	buffer_text(&cli->out, "{\"account_id\":");
	json_quote(span_str(id), &cli->out);
	buffer_text(&cli->out, ",\"api_key\":");
	json_quote(span_str(key), &cli->out);
	buffer_byte(&cli->out, '}');
	return DONE;
}

enum outcome account_create(struct cli *cli)
{
	const char        *name = args_option(&cli->args, "--name");
	bool               rewards = args_flag(&cli->args, "--rewards");
	bool               webhooks = args_flag(&cli->args, "--webhooks");
	struct random_pool pool = {0};
	struct account_id  account, same;
	struct buffer      args = {0};
	msgpack_packer     packer = buffer_packer(&args);
	uint8_t            secret[32], hash[32];
	char               key[API_KEY_TEXT];
	enum outcome       outcome;

	if (!args_end(&cli->args) || !name) return MISUSED;
	random_take(&pool, account.b, sizeof account.b);
	random_take(&pool, secret, sizeof secret);
	api_key_make(account, secret, key);
	must(api_key_read(span_str(key), &same, hash));
	msgpack_pack_array(&packer, ARGS_ACCOUNT_CREATE);
	pack_text(&packer, name);
	cli_pack_flag(&packer, rewards);
	cli_pack_flag(&packer, webhooks);
	pack_bin(&packer, span_of(hash, sizeof hash));
	outcome = create(cli, &account, key, &args);
	buffer_free(&args);
	return outcome;
}

/* Held against the field's range here, where the option's name is known. */
static bool fits(struct cli *cli, unsigned arg, const char *option, struct number number)
{
	unsigned            count;
	const struct field *field = &message_fields(MSG_ACCOUNT_SET, &count)[arg];
	char                message[100];

	if (!number.given || (number.value >= field->min && number.value <= field->max)) return true;
	snprintf(message, sizeof message, "%s must be from %lld to %lld.", option, (long long)field->min,
	         (long long)field->max);
	cli_fail_field(cli, ERR_INVALID_INPUT, span_str(field->name), message);
	return false;
}

enum outcome account_set(struct cli *cli)
{
	struct toggle     rewards = args_toggle(&cli->args, "--rewards");
	struct toggle     webhooks = args_toggle(&cli->args, "--webhooks");
	struct toggle     suspended = args_toggle(&cli->args, "--suspended");
	struct number     window = args_duration(&cli->args, "--double-scan-window");
	struct number     rate = args_number(&cli->args, "--rate-limit");
	const char       *id = args_word(&cli->args);
	struct account_id account;
	struct buffer     args = {0};
	msgpack_packer    packer = buffer_packer(&args);

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	if (!fits(cli, ARG_ACCOUNT_SET_rate_limit, "--rate-limit", rate) ||
	    !fits(cli, ARG_ACCOUNT_SET_double_scan_window_seconds, "--double-scan-window, in seconds,",
	          window))
		return FAILED;
	msgpack_pack_array(&packer, ARGS_ACCOUNT_SET);
	cli_pack_toggle(&packer, rewards);
	cli_pack_toggle(&packer, webhooks);
	cli_pack_toggle(&packer, suspended);
	cli_pack_number(&packer, window);
	cli_pack_number(&packer, rate);
	return cli_call(cli, MSG_ACCOUNT_SET, &account, &args);
}

enum outcome account_show(struct cli *cli)
{
	const char       *id = args_word(&cli->args);
	struct account_id account;

	if (!args_end(&cli->args)) return MISUSED;
	if (!cli_account(cli, id, &account)) return FAILED;
	return cli_call(cli, MSG_ACCOUNT_SHOW, &account, NULL);
}

/* ---- list: every shard's accounts, put in one order ---- */

struct row {
	char   created_at[32]; /* in our fixed form, which sorts as text */
	size_t at, size;       /* of its JSON in the rows' buffer */
};

struct rows {
	struct cli   *cli;
	struct row   *of;
	size_t        count, capacity;
	struct buffer json;
};

static bool rows_grow(struct rows *rows)
{
	size_t      capacity = rows->capacity ? rows->capacity * 2 : 64;
	struct row *of;

	if (rows->count < rows->capacity) return true;
	if (!(of = realloc(rows->of, capacity * sizeof *of))) return false;
	rows->of = of;
	rows->capacity = capacity;
	return true;
}

static enum err rows_add(struct rows *rows, const msgpack_object *item)
{
	const msgpack_object *created_at = cli_member(item, "created_at");
	struct row           *row;
	enum err              err;

	if (!created_at || created_at->type != MSGPACK_OBJECT_STR) return ERR_MALFORMED;
	if (!rows_grow(rows)) return ERR_NO_MEMORY;
	row = &rows->of[rows->count++];
	*row = (struct row){.at = rows->json.size};
	snprintf(row->created_at, sizeof row->created_at, "%.*s", (int)created_at->via.str.size,
	         created_at->via.str.ptr);
	err = json_render(item, &rows->json);
	row->size = rows->json.size - row->at;
	return err;
}

static void collect(void *user, uint32_t shard, const struct reply *reply)
{
	struct rows                *rows = user;
	const msgpack_object_array *items;
	enum err                    err = OK;

	(void)shard;
	if (!cli_part_ok(rows->cli, reply)) return;
	if (!(items = cli_items(reply->payload))) err = ERR_MALFORMED;
	for (uint32_t i = 0; !err && i < items->size; i++)
		err = rows_add(rows, &items->ptr[i]);
	if (err) cli_fail(rows->cli, err, NULL);
}

static int by_creation(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->created_at, ((const struct row *)b)->created_at);
}

enum outcome account_list(struct cli *cli)
{
	struct request request = {.message = MSG_ACCOUNT_LIST};
	struct rows    rows = {.cli = cli};
	enum outcome   outcome;

	if (!args_end(&cli->args)) return MISUSED;
	outcome = cli_call_parts(cli, &request, collect, &rows);
	if (rows.count) qsort(rows.of, rows.count, sizeof *rows.of, by_creation);
	buffer_byte(&cli->out, '[');
	for (size_t i = 0; i < rows.count && !rows.json.failed; i++) {
		if (i) buffer_byte(&cli->out, ',');
		buffer_append(&cli->out, rows.json.at + rows.of[i].at, rows.of[i].size);
	}
	buffer_byte(&cli->out, ']');
	if (rows.json.failed) outcome = cli_fail(cli, ERR_NO_MEMORY, NULL);
	buffer_free(&rows.json);
	free(rows.of);
	return outcome;
}
