/* Shared by the commands on deliveries: whether a delivery is still wanted, and how it ends. */
#include "actors/shard/delivery/delivery.h"
#include "schemas/object_msgpack.h"

#include "store/hot.h"
#include "store/scan_row.h"

enum err delivery_account(struct request *request, struct account_id id, struct account **account)
{
	enum err err = account_cached(request->accounts, request->view, id, account);
	if (err == ERR_NOT_FOUND) *account = NULL;
	return err == ERR_NOT_FOUND ? OK : err;
}

static bool has_subscription(const struct account *account, const struct delivery *row)
{
	for (unsigned i = 0; i < account->webhooks->count; i++) {
		const struct account_webhook *webhook = account->webhooks->of[i];
		if (uuid_same(webhook->id, row->subscription)) return webhook->generation == row->generation;
	}
	return false;
}

/* Does the event's subject still exist? A scan outlives its pass. */
static enum err has_subject(struct view *view, const struct delivery *row, bool *there)
{
	struct hot_at   pass;
	struct scan_row scan;
	enum err        err;
	if (event_subject(row->kind) == EVENT_OF_SCAN) {
		err = scan_row_get(view, row->account, row->subject, &scan);
		*there = !err && !scan.deleted;
	} else {
		err = hot_get(view, row->account, row->subject, &pass);
		*there = !err && !(pass.now.flags & HOT_DELETED);
	}
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

enum err delivery_is_wanted(struct view *view, const struct account *account, const struct delivery *row,
                            bool *wanted)
{
	*wanted = account && account->row.webhooks && has_subscription(account, row);
	return *wanted ? has_subject(view, row, wanted) : OK;
}

void delivery_pack_last(msgpack_packer *pk, size_t map, unsigned status, unsigned error, unsigned detail)
{
	MEMBER_NULLABLE(last_status, INTEGER, status, status);
	MEMBER_NULLABLE(last_error, STRING, error, attempt_word(error));
	MEMBER_NULLABLE(detail, STRING, detail, attempt_detail_text(detail));
}

/* Ends ---------------------------------------------------------------------------------------------------- */

static struct ends_of *ends_of(struct ends *ends, struct account_id account)
{
	for (unsigned i = 0; i < ends->count; i++)
		if (account_same(ends->of[i].account, account)) return &ends->of[i];
	return NULL;
}

void ends_note(struct ends *ends, struct account_id account)
{
	struct ends_of *of = ends_of(ends, account);
	if (!of) {
		must(ends->count < ENDS_PER_COMMAND_MAX);
		of = &ends->of[ends->count++];
		*of = (struct ends_of){.account = account};
	}
	of->noted++;
}

/* Reads one row more than is added, so that an account that was idle for long loses its old rows too. */
static enum err look_up(struct request *request, struct ends_of *of)
{
	struct delivery_end row = {.number = 0};
	wall_us             kept = {request->now.v - DELIVERIES_KEPT_DAYS * US_PER_DAY};
	enum err            err = delivery_end_last(request->view, of->account, &of->last);
	for (unsigned i = 0; !err && i <= of->noted; i++) {
		if ((err = delivery_end_after(request->view, of->account, row.number, &row))) break;
		if (!of->oldest) of->oldest = row.number;
		bool is_old = row.ended.v < kept.v ||
		              row.number + DELIVERIES_KEPT_MAX <= of->last + of->noted;
		if (!is_old) break;
		of->old_count++;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err ends_look_up(struct request *request, struct ends *ends)
{
	enum err err = OK;
	for (unsigned i = 0; i < ends->count && !err; i++)
		err = look_up(request, &ends->of[i]);
	return err;
}

enum err ends_put(struct request *request, struct ends *ends, const struct delivery *row,
                  enum delivery_outcome outcome)
{
	struct ends_of     *of = ends_of(ends, row->account);
	struct delivery_end end = {.was = *row, .outcome = outcome, .ended = request->now};
	enum err            err = delivery_del(request->view, row);
	if (err) return err;
	end.number = ++of->last;
	if (end.ended.v < row->fact.v) end.ended = row->fact;
	for (; of->old_count && !err; of->old_count--)
		err = delivery_end_del(request->view, of->account, of->oldest++);
	if (!err) err = delivery_end_put(request->view, &end);
	if (!err) atomic_fetch_add_explicit(&request->counters->ended[outcome], 1, memory_order_relaxed);
	return err;
}
