/* CLEAN, by the shard itself: one step of the background removal. A round goes through what commands have left over (the
 * table CLEANUP), then through accounts whose oldest idempotency keys are past their time, then through those whose oldest
 * ended deliveries are. Whether something is removed is decided here, by the writer and in its commit: a command that refers to it
 * again either came before, and it stays, or comes later, and does not find it. */
#include "actors/shard/engine/cleaning.h"

#include "actors/shard/pass/erase.h"
#include "store/delivery.h"
#include "store/idempotency.h"
#include "store/image.h"
#include "store/keys.h"
#include "store/meta.h"
#include "store/reward.h"
#include "store/rule.h"

enum { ROWS_A_STEP = BULK_WRITES_MAX / 4 };

/* What commands have left over ---------------------------------------------------------------------------- */

static enum err clean_one(struct request *request, struct cleanup *row, bool *done)
{
	*done = true;
	switch ((enum cleanup_kind)row->kind) {
	case CLEANUP_PASS: return pass_erased_clean(request, row, done);
	case CLEANUP_IMAGE_URL: return image_url_clean(request->view, row, done);
	case CLEANUP_IMAGE: return image_clean(request->view, row, done);
	case CLEANUP_REWARD: return reward_versions_clean(request->view, row, done);
	case CLEANUP_REWARD_VERSION: return reward_version_clean(request->view, row);
	case CLEANUP_REGISTRATIONS: return pass_phones_clean(request, row, done);
	case CLEANUP_RULE: return rule_fired_clean(request->view, row, done);
	case CLEANUP_ERASED_ID:
	case CLEANUP_KINDS_END: break;
	}
	return OK;
}

enum err cleanup_step(struct request *request, struct cleanup *row)
{
	bool     done;
	enum err err = clean_one(request, row, &done);
	if (err) return err;
	return done ? cleanup_del(request->view, row) : cleanup_put(request->view, row);
}

/* The next that is due takes a step; the place behind it is where the next step begins. */
static enum err clean_left_over(struct request *request, struct cleaning *cleaning)
{
	struct cleanup row = cleaning->at;
	enum err       err = cleanup_from(request->view, &row);
	for (unsigned i = 0; !err; i++) {
		cleaning->at = row;
		if (i == CLEAN_LOOKED_MAX) return OK;
		if (row.from.v <= request->now.v) {
			cleaning->at.subject[cleaning->at.subject_size++] = 0;
			cleaning->did = true;
			return cleanup_step(request, &row);
		}
		err = cleanup_next(request->view, &row);
	}
	cleaning->part = CLEAN_KEYS;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Accounts by turns --------------------------------------------------------------------------------------- */

/* The account of the first row at or after cleaning->account in that table. Errors: ERR_NOT_FOUND: no more. */
static enum err next_account(struct request *request, struct cleaning *cleaning, enum table table)
{
	struct row_key  key = key_account(cleaning->account);
	struct view_row row;
	enum err        err = view_from(request->view, table, key_span(&key), &row);
	if (err) return err;
	if (row.key.size < sizeof cleaning->account) return ERR_DAMAGED;
	memcpy(cleaning->account.b, row.key.at, sizeof cleaning->account);
	return OK;
}

/* false: it was the last that can be. */
static bool step(struct account_id *account)
{
	for (size_t i = sizeof account->b; i-- > 0;)
		if (++account->b[i]) return true;
	return false;
}

static enum err forget_keys(struct request *request, struct account_id account, bool *any)
{
	struct idempotency_order old[ROWS_A_STEP], found = {.order = 0};
	unsigned                 count = 0;
	wall_us  until = {request->now.v - IDEMPOTENCY_KEPT_HOURS * INT64_C(3600) * US_PER_SEC};
	enum err err = OK;
	while (count < ROWS_A_STEP &&
	       !(err = idempotency_after(request->view, account, found.order, &found))) {
		if (found.at.v <= until.v)
			old[count++] = found;
		else if (found.order < IDEMPOTENCY_IMPORTS)
			found.order = IDEMPOTENCY_IMPORTS; /* rows of imports have an order of their own */
		else
			break;
	}
	if (err && err != ERR_NOT_FOUND) return err;
	*any = count;
	err = OK;
	for (unsigned i = 0; !err && i < count; i++)
		err = idempotency_del(request->view, account, &old[i]);
	return err;
}

static enum err forget_ends(struct request *request, struct account_id account, bool *any)
{
	struct delivery_end found = {.number = 0};
	uint64_t            first = 0;
	unsigned            count = 0;
	wall_us             until = {request->now.v - DELIVERIES_KEPT_DAYS * US_PER_DAY};
	enum err            err = OK;
	while (count < ROWS_A_STEP &&
	       !(err = delivery_end_after(request->view, account, found.number, &found)) &&
	       found.ended.v < until.v)
		if (count++ == 0) first = found.number;
	if (err && err != ERR_NOT_FOUND) return err;
	*any = count;
	err = OK;
	for (unsigned i = 0; !err && i < count; i++)
		err = delivery_end_del(request->view, account, first + i); /* they have no gaps */
	return err;
}

/* Account by account; one that has something takes a step and stays at hand. */
static enum err clean_accounts(struct request *request, struct cleaning *cleaning)
{
	bool     keys = cleaning->part == CLEAN_KEYS, any = false;
	enum err err = OK;
	for (unsigned i = 0; i < CLEAN_LOOKED_MAX && !any; i++) {
		err = next_account(request, cleaning, keys ? TABLE_IDEMPOTENCY_ORDER : TABLE_DELIVERY_END);
		if (!err)
			err = keys ? forget_keys(request, cleaning->account, &any)
			           : forget_ends(request, cleaning->account, &any);
		if (err || (!any && !step(&cleaning->account))) break;
		if (i + 1 == CLEAN_LOOKED_MAX) return OK;
	}
	if (any) cleaning->did = true;
	if (any && !err) return OK;
	if (err && err != ERR_NOT_FOUND) return err;
	cleaning->account = (struct account_id){{0}};
	cleaning->part = keys ? CLEAN_ENDS : CLEAN_END;
	return OK;
}

enum err on_CLEAN(struct request *request, struct outcome *outcome)
{
	struct cleaning *cleaning = request->cleaning;
	(void)outcome;
	if (cleaning->begins_segment) return segment_begun_put(request->view, request->now);
	return cleaning->part == CLEAN_LEFT_OVER ? clean_left_over(request, cleaning)
	                                         : clean_accounts(request, cleaning);
}
