/* The idempotency keys of one account: each has its row in both tables, the two agree, and the order is that of
 * time. Every row is looked up in the other table, so no memory is needed. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "store/idempotency.h"
#include "store/reward.h"

#include <inttypes.h>

enum { KEY_REST = 32, ORDER_REST = 8 };

static bool is_nothing(const struct recipe *recipe)
{
	return recipe->detail.size == 0;
}

static bool is_uuid(const struct recipe *recipe)
{
	return recipe->detail.size == sizeof(struct uuid);
}

static bool is_two_uuids(const struct recipe *recipe)
{
	return recipe->detail.size == 2 * sizeof(struct uuid);
}

static bool is_scan(const struct recipe *recipe)
{
	struct scan_row scan;
	return recipe_scan(recipe, &scan) == OK;
}

static bool is_subscription(const struct recipe *recipe)
{
	struct subscription subscription;
	return recipe_subscription(recipe, &subscription) == OK;
}

static bool is_version(const struct recipe *recipe)
{
	return recipe->detail.size == 4 && get_le32(recipe->detail.at);
}

static const struct {
	enum recipe_of of;
	bool (*is_detail)(const struct recipe *recipe);
} recipes[] = {
#define R(number, NAME, name, OF, detail) [number] = {RECIPE_OF_##OF, is_##detail},
#include "store/recipes.def"
#undef R
};

static bool is_known(const struct recipe *recipe)
{
	return recipe->what < sizeof recipes / sizeof *recipes && recipes[recipe->what].is_detail &&
	       !(recipe->flags & ~RECIPE_FLAGS_KNOWN);
}

static void judge_number(struct auditor *auditor, uint64_t order, const struct recipe *recipe)
{
	enum recipe_of of = recipes[recipe->what].of;
	bool           is_there = of == RECIPE_OF_PASS ? recipe->number < auditor->pass_count
	                          : of == RECIPE_OF_REWARD ? recipe->number && recipe->number <= auditor->family_count
	                                                   : recipe->number == 0;
	if (!is_there)
		audit_fault(auditor, TABLE_IDEMPOTENCY, "key %" PRIu64 ": %s %u does not exist", order,
		            of == RECIPE_OF_REWARD ? "reward" : "pass", recipe->number);
}

/* The recipe of a response: what it refers to must exist, and unused fields must be 0. */
static void judge_recipe(struct auditor *auditor, uint64_t order, const struct recipe *recipe)
{
	if (!is_known(recipe)) {
		audit_fault(auditor, TABLE_IDEMPOTENCY, "key %" PRIu64 ": an unknown answer", order);
		return;
	}
	judge_number(auditor, order, recipe);
	if (!recipes[recipe->what].is_detail(recipe))
		audit_fault(auditor, TABLE_IDEMPOTENCY, "key %" PRIu64 ": a detail that cannot be read",
		            order);
}

/* The version in the response. A replaced version may be removed before the row of an expired key. */
static enum err audit_reward(struct auditor *auditor, const struct idempotency_row *row)
{
	const struct recipe *recipe = &row->recipe;
	if (recipe->what != RECIPE_REWARD || recipe->detail.size != 4) return OK;
	struct reward reward;
	enum err      err = reward_get(auditor->reader, auditor->account, recipe->number, &reward);
	if (err) return audit_is_fault(err) ? OK : err;
	if (get_le32(recipe->detail.at) > reward.version)
		audit_fault(auditor, TABLE_IDEMPOTENCY, "key %" PRIu64 ": a version that does not exist",
		            row->order);
	return OK;
}

static void judge_row(struct auditor *auditor, const struct idempotency_row *row)
{
	judge_recipe(auditor, row->order, &row->recipe);
	if (row->order == 0 || row->at.v < 0)
		audit_fault(auditor, TABLE_IDEMPOTENCY, "key %" PRIu64 ": an impossible number or time",
		            row->order);
}

/* Has the row's order number the same key and time? */
static enum err audit_place(struct auditor *auditor, const uint8_t *key, const struct idempotency_row *row)
{
	struct row_key           at = key_u64(auditor->account, row->order);
	struct idempotency_order place;
	struct span              value;
	enum err err = view_get(auditor->reader, TABLE_IDEMPOTENCY_ORDER, key_span(&at), &value);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err || idempotency_order_read(value, &place) || memcmp(place.key, key, sizeof place.key))
		audit_fault(auditor, TABLE_IDEMPOTENCY, "key %" PRIu64 ": it is not in the order",
		            row->order);
	else if (place.at.v != row->at.v)
		audit_fault(auditor, TABLE_IDEMPOTENCY, "key %" PRIu64 ": another time than in the order",
		            row->order);
	return OK;
}

static enum err judge_key(struct auditor *auditor, const struct audit_rows *rows)
{
	struct idempotency_row row;
	if (rows->rest.size != KEY_REST || idempotency_row_read(rows->value, &row)) return ERR_MALFORMED;
	judge_row(auditor, &row);
	enum err err = audit_place(auditor, rows->rest.at, &row);
	return err ? err : audit_reward(auditor, &row);
}

/* A row of the order compared with its key's row. */
static enum err audit_its_key(struct auditor *auditor, const struct idempotency_order *place)
{
	struct idempotency_row row;
	enum err               err = idempotency_get(auditor->reader, auditor->account, place->key, &row);
	if (err && !audit_is_fault(err)) return err;
	if (err || row.order != place->order)
		audit_fault(auditor, TABLE_IDEMPOTENCY_ORDER, "number %" PRIu64 " leads to no key",
		            place->order);
	return OK;
}

static enum err audit_order(struct auditor *auditor)
{
	struct audit_rows        rows = {.table = TABLE_IDEMPOTENCY_ORDER};
	struct idempotency_order place;
	int64_t                  before = 0;
	uint64_t                 last = 0;
	enum err                 err;
	while (!(err = audit_row(auditor, &rows))) {
		if (rows.rest.size != ORDER_REST || idempotency_order_read(rows.value, &place)) {
			audit_fault(auditor, TABLE_IDEMPOTENCY_ORDER, "a row of a wrong form");
			continue;
		}
		place.order = get_be64(rows.rest.at);
		if (place.order > IDEMPOTENCY_IMPORTS && last < IDEMPOTENCY_IMPORTS) before = 0;
		last = place.order;
		if (place.at.v < before)
			audit_fault(auditor, TABLE_IDEMPOTENCY_ORDER,
			            "number %" PRIu64 " is older than the one before", place.order);
		before = place.at.v;
		if ((err = audit_its_key(auditor, &place))) return err;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err audit_idempotency(struct auditor *auditor)
{
	enum err err = audit_each(auditor, TABLE_IDEMPOTENCY, judge_key, NULL);
	return err ? err : audit_order(auditor);
}
