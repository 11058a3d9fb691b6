/* The commands of rules, except put. */
#include "actors/shard/rule/rule.h"
#include "actors/shard/list/list_in.h"
#include "actors/shard/list/list_out.h"
#include "schemas/api/rule.h"
#include "schemas/object_json.h"
#include "store/cleanup.h"

/* GET /v1/trigger-rules, and rule list ACCOUNT: the newest first. Rules are few, so all ids are read, oldest first, and the page
 * is taken from the end. */

/* Ids of the account's rules, the oldest first. */
struct ids {
	unsigned    count;
	struct uuid of[RULES_MAX];
};

static enum err gather(struct request *request, struct ids *ids)
{
	struct rule_row row = {.created = {0}};
	struct buffer   room = {0};
	enum err        err;
	ids->count = 0;
	while (!(err = rule_row_next(request->view, request->account->id, &room, &row))) {
		if (ids->count == RULES_MAX) err = ERR_DAMAGED;
		if (err) break;
		ids->of[ids->count++] = row.id;
	}
	buffer_free(&room);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* The members of the operator's file, with the id in front and times behind them. */
static enum err show(struct request *request, struct uuid id, struct buffer *out)
{
	struct rule_row row;
	enum err        err = rule_row_get(request->view, request->account->id, id, &row);
	if (err || row.text.size < 2) return !err || err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	size_t begin = bin_begin(out);
#define RULE_FILE              \
	buffer_byte(out, ','); \
	buffer_append(out, row.text.at + 1, row.text.size - 2); /* without its braces */
#include "schemas/objects/rule_shown.def"
#undef RULE_FILE
	MEMBER_SOMETIMES(skipped_actions, INTEGER, list_is_operators(request),
	                 (int64_t)rule_skips_of(&request->facts->rule_skips, id));
	json_object_end(out, begin);
	bin_end(out, begin);
	return OK;
}

enum err on_RULE_LIST(struct request *request, struct outcome *outcome)
{
	uint64_t limit = list_take_limit(request, &request->args[ARG_RULE_LIST_limit], PAGE_LIMIT_DEFAULT);
	uint64_t offset = (uint64_t)arg_integer(&request->args[ARG_RULE_LIST_offset], 0);
	struct list_out list;
	struct ids      ids;
	enum err        err = gather(request, &ids);
	list_begin(&list, outcome);
	uint64_t end = offset < ids.count ? ids.count - offset : 0, shown = end < limit ? end : limit;
	for (uint64_t i = 0; !err && i < shown; i++)
		err = show(request, ids.of[end - 1 - i], list_item(&list));
	if (!err) err = list_end(&list, ids.count, end > shown);
	list_drop(&list);
	return err;
}

/* rule delete: deletes the row. The rows of passes for which the rule has fired may be as many as the passes, so they are
 * deleted in the background; no other rule ever gets this id. */
enum err on_RULE_DELETE(struct request *request, struct outcome *outcome)
{
	struct rule_row row;
	msgpack_packer  pk = buffer_packer(outcome->payload);
	enum err        err = rule_find(request, &request->args[ARG_RULE_DELETE_rule_id], &row);
	if (err || (err = rule_row_del(request->view, request->account->id, row.id))) return err;
	struct cleanup rest = cleanup_of(request->account->id, CLEANUP_RULE,
	                                 span_of(row.id.b, sizeof row.id));
	if ((err = cleanup_put(request->view, &rest))) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
