/* Idempotency keys in the shard.
 *
 * Life of a key: it is stored with the writes of the first command that succeeds with it. Later commands of the account with
 * the same key find it for 24 hours of service time. After that it counts as absent. When a key is stored, a few old ones are
 * removed, oldest first: the expired ones and those above the account's limit. Keys of an account that stops using them are
 * removed in the background (system/clean.c).
 *
 * A row of an import is found the same way, until a later row of the import replaces it in its slot. The slot keeps its place
 * in the order for 12 hours, so that only one row is written. Then it gets a new place, so that no row is removed before it is
 * 12 hours old. The number of these rows is not limited here: an import leaves one row a slot.
 *
 * A creation with images is stored as accepted (202). When it is issued in time, this becomes 201. A request that repeats the
 * key earlier waits for the same result.
 */
#include "actors/shard/engine/idempotency.h"

#include "actors/shard/entitlement/entitlement.h"
#include "actors/shard/pass/pass.h"
#include "actors/shard/scan/scan.h"
#include "actors/shard/reward/reward.h"
#include "actors/shard/subscription/subscription.h"

_Static_assert((int)RECIPE_FLAGS_KNOWN == (int)REPLY_ACCEPTED, "a reply's flag is on disk");

static const int64_t kept_us = (int64_t)IDEMPOTENCY_KEPT_HOURS * 3600 * US_PER_SEC;

static bool is_past(wall_us at, wall_us now)
{
	return now.v - at.v >= kept_us;
}

static void forget(struct idempotent *idem, const struct idempotency_order *old)
{
	must(idem->old_count < sizeof idem->old / sizeof *idem->old);
	idem->old[idem->old_count++] = *old;
}

/* Plans which old rows are removed for the new one. The count is the distance between order numbers. Gaps make it too large,
 * but rows before a gap are removed first anyway. */
static enum err plan_row(struct request *request, struct idempotent *idem)
{
	struct account_id        account = request->account->id;
	uint64_t                 base = request->of_import ? IDEMPOTENCY_IMPORTS : 0;
	struct idempotency_order oldest = {.order = base};
	enum err                 err = idempotency_last(request->view, account, base, &idem->order);
	if (err) return err;
	idem->order++;
	for (unsigned i = 0; i < IDEMPOTENCY_FORGOTTEN_MAX; i++) {
		err = idempotency_after(request->view, account, oldest.order, &oldest);
		if (err) return err == ERR_NOT_FOUND ? OK : err;
		if (oldest.order >= idem->order) return OK; /* a row of the other order */
		uint64_t count = idem->order - oldest.order + 1;
		bool     is_one_too_many = !request->of_import && count > request->facts->idempotency_keys;
		if (!is_past(oldest.at, request->now) && !is_one_too_many) return OK;
		forget(idem, &oldest);
	}
	return OK;
}

/* An answer about an erased pass is not replayed. With the id in the request it would reveal whose the random id, the history
 * and the scans are. Texts of the first answer are gone, too. */
static enum err check_pass(const struct request *request, const struct recipe *recipe,
                           struct outcome *outcome)
{
	struct hot_at pass;
	enum err      err = hot_get(request->view, request->account->id, recipe->number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (!(pass.now.flags & HOT_ERASED)) return OK;
	outcome->flags = 0;
	return refuse(outcome, REASON_OF_ALL(KEY_ERASED));
}

static enum err empty_again(struct request *request, const struct recipe *recipe, struct outcome *outcome)
{
	(void)request, (void)recipe, (void)outcome;
	return OK;
}

static enum err pass_again(struct request *request, const struct recipe *recipe, struct outcome *outcome)
{
	struct hot_at pass;
	enum err      err = hot_get(request->view, request->account->id, recipe->number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	outcome->recipe = *recipe;
	outcome->began = pass.now.status == PASS_CREATING;
	return pass_show(request, &pass, outcome->payload);
}

static const struct {
	enum recipe_of of;
	enum err (*again)(struct request *request, const struct recipe *recipe, struct outcome *outcome);
} recipes[] = {
#define R(number, NAME, name, OF, detail) [number] = {RECIPE_OF_##OF, name##_again},
#include "store/recipes.def"
#undef R
};

/* Builds the earlier answer again from the thing that it was about. An answer without a body reveals nothing about a holder. */
static enum err replay(struct request *request, const struct recipe *recipe, struct outcome *outcome)
{
	enum err err;
	if (recipe->what >= sizeof recipes / sizeof *recipes || !recipes[recipe->what].again)
		return ERR_DAMAGED;
	if (recipes[recipe->what].of == RECIPE_OF_PASS && (err = check_pass(request, recipe, outcome)))
		return err;
	outcome->flags = recipe->flags | REPLY_REPLAYED;
	return recipes[recipe->what].again(request, recipe, outcome);
}

/* Does the slot hold an earlier row of the import? That row has its final answer. */
static bool is_earlier_row(const struct request *request, const struct idempotency_row *row)
{
	return request->of_import && idempotency_row_number(row->request) <
	                                 idempotency_row_number(request->call->idempotency->request);
}

enum err idempotent_begin(struct request *request, struct outcome *outcome, struct idempotent *idem)
{
	const struct idempotency *asked = request->call->idempotency;
	struct idempotency_row    row;
	*idem = (struct idempotent){.at = request->now};
	enum err err = idempotency_get(request->view, request->account->id, asked->key, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	if (!err && is_earlier_row(request, &row)) {
		if (request->now.v - row.at.v < kept_us / 2) {
			idem->replaces = true;
			idem->order = row.order;
			idem->at = row.at;
			return OK;
		}
	} else if (!err && !is_past(row.at, request->now)) {
		if (memcmp(row.request, asked->request, sizeof row.request))
			return ERR_IDEMPOTENCY_KEY_REUSED;
		idem->replayed = true;
		outcome->flags = REPLY_REPLAYED;
		if (request->of_import) return OK; /* the answer has no body */
		return replay(request, &row.recipe, outcome);
	}
	if (!err) {
		struct idempotency_order old = {.order = row.order, .at = row.at};
		memcpy(old.key, asked->key, sizeof old.key);
		forget(idem, &old);
	}
	return plan_row(request, idem);
}

enum err idempotent_end(struct request *request, const struct outcome *outcome, const struct idempotent *idem)
{
	struct account_id         account = request->account->id;
	const struct idempotency *asked = request->call->idempotency;
	struct idempotency_row    row = {.recipe = outcome->recipe, .at = idem->at, .order = idem->order};
	must(outcome->payload->size == 0 ||
	     /* A body without a recipe could not be repeated. */
	     outcome->recipe.what != RECIPE_EMPTY);
	for (unsigned i = 0; i < idem->old_count; i++) {
		enum err err = idempotency_del(request->view, account, &idem->old[i]);
		if (err) return err;
	}
	row.recipe.flags = (uint8_t)(outcome->flags & RECIPE_FLAGS_KNOWN);
	memcpy(row.request, asked->request, sizeof row.request);
	if (idem->replaces) return idempotency_replace(request->view, account, asked->key, &row);
	return idempotency_put(request->view, account, asked->key, &row);
}
