/* The catalogue of rewards: shared by its commands. take.c reads the terms from a body. */
#include "actors/shard/reward/reward.h"

#include "schemas/object_msgpack.h"
#include "actors/shard/rule/rule.h"
#include "schemas/bytes.h"

enum err reward_find(const struct request *request, struct span slug, struct reward *row)
{
	enum err err = reward_by_slug(request->view, request->account->id, slug, row);
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

enum err reward_check_unused(const struct request *request, struct outcome *outcome, const struct reward *row)
{
	bool named = false;
	if (row->assigned) return refuse(outcome, REASON_OF_ALL(REWARD_ASSIGNED));
	enum err err = rules_name_slug(request, row->slug, &named);
	return named && !err ? refuse(outcome, REASON_OF_ALL(REWARD_RULED)) : err;
}

/* Its slug ----------------------------------------------------------------------------------------------- */

enum { NUMBERS_TRIED = 16, NUMBER_HIGH = 1 << 30 };

static enum err look(struct request *request, const struct slug *slug, bool *taken)
{
	struct reward other;
	enum err      err = reward_by_slug(request->view, request->account->id, slug_span(slug), &other);
	*taken = err == OK;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* For a name that thousands of rewards have: finds a free number whose predecessor is taken, by a binary search of some
 * thirty point reads. Its upper end is random, so that no client can have taken it on purpose. */
static enum err search(struct request *request, const struct slug *base, struct slug *slug)
{
	uint32_t low = NUMBERS_TRIED, high;
	bool     taken;
	enum err err;
	do {
		random_take(request->random, &high, sizeof high);
		high = NUMBER_HIGH | (high & (NUMBER_HIGH - 1));
		slug_number(base, high, slug);
		if ((err = look(request, slug, &taken))) return err;
	} while (taken);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		slug_number(base, middle, slug);
		if ((err = look(request, slug, &taken))) return err;
		*(taken ? &low : &high) = middle;
	}
	slug_number(base, high, slug);
	return OK;
}

enum err reward_draw_slug(struct request *request, struct span name, struct slug *slug)
{
	struct slug base;
	bool        taken = true;
	enum err    err = slug_make(name, &base);
	*slug = base;
	if (!err) err = look(request, slug, &taken);
	for (uint32_t number = 2; !err && taken && number <= NUMBERS_TRIED; number++) {
		slug_number(&base, number, slug);
		err = look(request, slug, &taken);
	}
	return err || !taken ? err : search(request, &base, slug);
}

/* Packing and storing ------------------------------------------------------------------------------------- */

static void pack_Expiration(msgpack_packer *pk, const struct reward_version *terms)
{
	size_t map = map_begin(pk);
#include "schemas/objects/expiration.def"
}

void reward_pack(const struct reward_version *terms, enum reward_status status, wall_us updated,
                 msgpack_packer *pk)
{
	size_t map = map_begin(pk);
#include "schemas/objects/reward.def"
}

static enum err note(struct request *request, const struct reward_version *terms, struct outcome *outcome)
{
	uint8_t *detail = arena_take(view_arena(request->view), 4);
	if (!detail) return ERR_NO_MEMORY;
	put_le32(detail, terms->version);
	outcome->recipe = (struct recipe){
	    .what = RECIPE_REWARD, .number = terms->family, .detail = span_of(detail, 4)};
	return OK;
}

enum err reward_leave_over(struct request *request, struct cleanup row)
{
	row.from.v = request->now.v + IDEMPOTENCY_KEPT_HOURS * INT64_C(3600) * US_PER_SEC;
	return cleanup_put(request->view, &row);
}

/* A client may edit a reward without limit, so versions that were never assigned are removed. */
static enum err leave_newest(struct request *request, const struct reward *row)
{
	if (!row->version || row->assigned_newest) return OK;
	return reward_leave_over(request,
	                         reward_version_left_over(request->account->id, row->family, row->version));
}

enum err reward_publish(struct request *request, struct outcome *outcome, struct reward *row,
                        struct reward_version *terms)
{
	msgpack_packer pk = buffer_packer(outcome->payload);
	if (row->version == UINT32_MAX) return ERR_RESOURCE_CONFLICT;
	enum err err = leave_newest(request, row);
	if (err) return err;
	row->version++;
	row->assigned_newest = 0;
	row->updated = request->now;
	terms->family = row->family;
	terms->version = row->version;
	terms->id = uuid_draw(request);
	terms->family_id = row->family_id;
	terms->status = row->status;
	terms->created = row->created;
	terms->made = request->now;
	terms->slug = row->slug;
	err = reward_version_put(request->view, request->account->id, terms);
	if (err || (err = reward_put(request->view, request->account->id, row))) return err;
	reward_pack(terms, row->status, row->updated, &pk);
	return note(request, terms, outcome);
}

enum err reward_again(struct request *request, const struct recipe *recipe, struct outcome *outcome)
{
	struct reward_version terms;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	if (recipe->detail.size != 4) return ERR_DAMAGED;
	enum err err = reward_version_get(request->view, request->account->id, recipe->number,
	                                  get_le32(recipe->detail.at), &terms);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	reward_pack(&terms, terms.status, terms.made, &pk);
	return OK;
}
