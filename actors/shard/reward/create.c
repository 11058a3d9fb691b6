/* POST /v1/rewards: a new family, and its first version. */
#include "actors/shard/reward/reward.h"
#include "schemas/api/reward.h"

/* The slug that was asked for, or one made of the name. */
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
