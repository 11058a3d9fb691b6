/* The rewards catalogue: what its commands share, but for the reading of a body. */
#include "actors/shard/reward/reward.h"

#include "actors/shard/rule/rule.h"
#include "schemas/bytes.h"
#include "schemas/date.h"

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

/* A slug for it ------------------------------------------------------------------------------------------- */

enum { NUMBERS_TRIED = 16, NUMBER_HIGH = 1 << 30 };

static enum err look(struct request *request, const struct slug *slug, bool *taken)
{
	struct reward other;
	enum err      err = reward_by_slug(request->view, request->account->id, slug_span(slug), &other);
	*taken = err == OK;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Among thousands of one name: a number that is free, the one before it taken, in some thirty looks. The high end is
 * drawn, so that nobody can have seen to it. */
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

/* How it is shown, and stored ----------------------------------------------------------------------------- */

static void pack_expiration(const struct reward_version *terms, msgpack_packer *pk)
{
	msgpack_pack_map(pk, terms->expiration == EXPIRATION_NONE ? 1 : 2);
	pack_text(pk, "kind");
	pack_text(pk, expiration_kind_text(terms->expiration));
	if (terms->expiration == EXPIRATION_RELATIVE_WINDOW)
		pack_count(pk, "window_seconds", terms->window_seconds);
	if (terms->expiration == EXPIRATION_FIXED_END) pack_time(pk, "fixed_end", terms->fixed_end);
}

void reward_pack(const struct reward_version *terms, enum reward_status status, wall_us updated,
                 msgpack_packer *pk)
{
	msgpack_pack_map(pk, 12);
	pack_member(pk, "slug", terms->slug);
	pack_member(pk, "name", terms->name);
	pack_text(pk, "kind");
	pack_text(pk, reward_kind_text(terms->kind));
	pack_member(pk, "description", terms->description);
	pack_text(pk, "status");
	pack_text(pk, reward_status_text(status));
	pack_count(pk, "version", terms->version);
	pack_switch(pk, "repeat_assignment", terms->repeat_assignment);
	pack_count(pk, "redemption_allowance", terms->redemption_allowance);
	pack_text(pk, "assignment_limit");
	if (terms->assignment_limit)
		msgpack_pack_uint64(pk, terms->assignment_limit);
	else
		msgpack_pack_nil(pk);
	pack_text(pk, "expiration");
	pack_expiration(terms, pk);
	pack_time(pk, "created_at", terms->created);
	pack_time(pk, "updated_at", updated);
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

/* A client may edit a reward as often as it likes: versions that nobody got do not stay. */
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
