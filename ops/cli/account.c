/* account create|list. The CLI makes the id and the first key. The id decides the shard. A key's secret stays in this process;
 * the shard gets its hash. */
#include "ops/cli/key.h"
#include "schemas/api/account.h"
#include "schemas/array.h"
#include "schemas/json.h"

#include <stdlib.h>
#include <string.h>

enum outcome account_create(struct cli *cli)
{
	struct random_pool pool = {0};
	struct taken       taken;
	char               key[API_KEY_TEXT], id[ACCOUNT_ID_TEXT];
	enum outcome       outcome = taken_read(cli, MSG_ACCOUNT_CREATE, &taken);

	if (outcome != DONE) goto out;
	random_take(&pool, taken.account.b, sizeof taken.account.b);
	cli_key_make(&pool, &taken, ARG_ACCOUNT_CREATE_key_hash, key);
	if ((outcome = taken_call(cli, &taken, cli_take_nothing, cli)) != DONE) goto out;
	account_id_text(taken.account, id);
	buffer_text(&cli->out, "{\"account_id\":");
	json_quote(span_str(id), &cli->out);
	buffer_text(&cli->out, ",\"api_key\":");
	json_quote(span_str(key), &cli->out);
	buffer_byte(&cli->out, '}');
out:
	taken_free(&taken);
	return outcome;
}

/* ---- list: the accounts of all shards in one order ---- */

struct row {
	char   created_at[32]; /* in our fixed form, which sorts as text */
	size_t at, size;       /* of its JSON in the rows' buffer */
};

struct rows {
	struct cli   *cli;
	struct row   *of;
	size_t        count, room;
	struct buffer json;
};

static enum err rows_add(struct rows *rows, const msgpack_object *item)
{
	const msgpack_object *created_at = msgpack_member(item, "created_at");
	struct row           *row, *of;
	enum err              err;

	if (!created_at || created_at->type != MSGPACK_OBJECT_STR) return ERR_MALFORMED;
	if (!(of = array_grown(rows->of, rows->count, &rows->room, sizeof *of))) return ERR_NO_MEMORY;
	rows->of = of;
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
	struct call_spec request = {.message = MSG_ACCOUNT_LIST};
	struct rows      rows = {.cli = cli};
	enum outcome     outcome;

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
