/* The commands of rewards. */
#include "actors/shard/reward/reward.h"
#include "actors/shard/list/list_out.h"
#include "schemas/api/reward.h"

/* POST /v1/rewards: a new family, and its first version. */

/* The slug that the request gives, or one made from the name. */
static enum err choose_slug(struct request *request, struct outcome *outcome,
                            const struct reward_version *terms, struct slug *slug)
{
	struct span   asked = arg_span(&request->args[ARG_REWARD_CREATE_slug]);
	struct reward other;
	if (!asked.size) return reward_draw_slug(request, terms->name, slug);
	memcpy(slug->b, asked.at, slug->size = asked.size);
	enum err err = reward_by_slug(request->view, request->account->id, asked, &other);
	if (err == ERR_NOT_FOUND) return OK;
	return err ? err : refuse(outcome, REASON_OF_ALL(SLUG_TAKEN));
}

static enum err count_one(struct request *request, struct outcome *outcome, uint32_t *family)
{
	struct reward_tally tally;
	enum err            err = reward_tally_get(request->view, request->account->id, &tally);
	if (err) return err;
	if (tally.rewards >= REWARDS_MAX || tally.families == UINT32_MAX)
		return refuse(outcome, REASON_OF_ALL(REWARDS_FULL, .most = REWARDS_MAX));
	tally.rewards++;
	*family = ++tally.families;
	return reward_tally_put(request->view, request->account->id, &tally);
}

enum err on_REWARD_CREATE(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args, *asked = &args[ARG_REWARD_CREATE_slug];
	struct reward_version terms;
	struct slug           slug;
	struct reward         row = {.status = REWARD_ACTIVE, .created = request->now};
	enum err              err = reward_take(request, outcome, &args[ARG_REWARD_CREATE_name], &terms);
	if (err) return err;
	if (arg_present(asked) && !slug_is_valid(arg_span(asked)))
		return refuse(outcome, REASON(SLUG_FORM, "slug", .most = REWARD_SLUG_BYTES_MAX));
	if ((err = choose_slug(request, outcome, &terms, &slug))) return err;
	if ((err = count_one(request, outcome, &row.family))) return err;
	row.family_id = uuid_draw(request);
	row.slug = slug_span(&slug);
	if ((err = reward_slug_put(request->view, request->account->id, &row))) return err;
	return reward_publish(request, outcome, &row, &terms);
}

/* GET /v1/rewards/{slug}: archived ones too. */
enum err on_REWARD_GET(struct request *request, struct outcome *outcome)
{
	struct reward         row;
	struct reward_version terms;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	enum err err = reward_find(request, arg_span(&request->args[ARG_REWARD_GET_reward_slug]), &row);
	if (err) return err;
	err = reward_version_get(request->view, request->account->id, row.family, row.version, &terms);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	reward_pack(&terms, row.status, row.updated, &pk);
	return OK;
}

/* GET /v1/rewards: all of the account's, the oldest first. */
static enum err show(struct request *request, bool with_archived, struct buffer *room, struct list_out *list)
{
	struct account_id     account = request->account->id;
	struct reward         row = {.family = 0};
	struct reward_version terms;
	enum err              err = OK;
	while (!list->err && !(err = reward_next(request->view, account, &row))) {
		if (row.status == REWARD_ARCHIVED && !with_archived) continue;
		if ((err = reward_version_in(request->view, account, &row, room, &terms))) return err;
		msgpack_packer pk = buffer_packer(list_item(list));
		reward_pack(&terms, row.status, row.updated, &pk);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err on_REWARD_LIST(struct request *request, struct outcome *outcome)
{
	bool            with_archived = arg_boolean(&request->args[ARG_REWARD_LIST_include_archived], false);
	struct buffer   room = {0}; /* of one version at a time: the view's own memory would keep them all */
	struct list_out list;
	list_begin(&list, outcome);
	enum err err = show(request, with_archived, &room, &list);
	if (!err) err = list_end(&list, 0, false);
	list_drop(&list);
	buffer_free(&room);
	return err;
}

/* PUT /v1/rewards/{slug}: publishes a new version, whose terms the body gives as a whole; the status stays. */
enum err on_REWARD_PUT(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct span           slug = arg_span(&args[ARG_REWARD_PUT_reward_slug]);
	struct reward_version terms;
	struct reward         row;
	enum err              err = reward_take(request, outcome, &args[ARG_REWARD_PUT_name], &terms);
	if (err || (err = reward_check_slug(outcome, &args[ARG_REWARD_PUT_slug], slug))) return err;
	if ((err = reward_find(request, slug, &row))) return err;
	return reward_publish(request, outcome, &row, &terms);
}

/* POST /v1/rewards/{slug}/archive: publishes no version, since the terms stay. */
enum err on_REWARD_ARCHIVE(struct request *request, struct outcome *outcome)
{
	struct reward row;
	enum err err = reward_find(request, arg_span(&request->args[ARG_REWARD_ARCHIVE_reward_slug]), &row);
	if (err) return err;
	if (row.status == REWARD_ARCHIVED) return refuse(outcome, REASON_OF_ALL(REWARD_ARCHIVED_TWICE));
	if ((err = reward_check_unused(request, outcome, &row))) return err;
	row.status = REWARD_ARCHIVED;
	row.updated = request->now;
	return reward_put(request->view, request->account->id, &row);
}

/* POST /v1/rewards/{slug}/restore: an archived reward becomes active again, with the terms of the body. Without a body, or
 * with an empty object, it keeps its terms. */
static bool has_body(const struct request *request)
{
	for (unsigned i = ARG_REWARD_RESTORE_reward_slug + 1; i < ARGS_REWARD_RESTORE; i++)
		if (arg_present(&request->args[i])) return true;
	return false;
}

enum err on_REWARD_RESTORE(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct span           slug = arg_span(&args[ARG_REWARD_RESTORE_reward_slug]);
	bool                  given = has_body(request);
	struct reward_version terms;
	struct reward         row;
	enum err err = given ? reward_take(request, outcome, &args[ARG_REWARD_RESTORE_name], &terms) : OK;
	if (err || (err = reward_check_slug(outcome, &args[ARG_REWARD_RESTORE_slug], slug))) return err;
	if ((err = reward_find(request, slug, &row))) return err;
	if (row.status != REWARD_ARCHIVED) return refuse(outcome, REASON_OF_ALL(REWARD_NOT_ARCHIVED));
	if (!given)
		err = reward_version_get(request->view, request->account->id, row.family, row.version,
		                         &terms);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	row.status = REWARD_ACTIVE;
	return reward_publish(request, outcome, &row, &terms);
}

/* DELETE /v1/rewards/{slug}: its slug is free. Its versions stay as long as an idempotency key may ask for one again. */
enum err on_REWARD_DELETE(struct request *request, struct outcome *outcome)
{
	struct account_id   account = request->account->id;
	struct reward_tally tally;
	struct reward       row;
	enum err err = reward_find(request, arg_span(&request->args[ARG_REWARD_DELETE_reward_slug]), &row);
	if (err || (err = reward_check_unused(request, outcome, &row))) return err;
	if ((err = reward_tally_get(request->view, account, &tally))) return err;
	if (tally.rewards == 0) return ERR_DAMAGED;
	tally.rewards--;
	if ((err = reward_leave_over(request, reward_left_over(account, &row)))) return err;
	if ((err = reward_del(request->view, account, &row))) return err;
	return reward_tally_put(request->view, account, &tally);
}
