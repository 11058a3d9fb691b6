/* GET /v1/passes: filters, four orders, exact counts. Without a filter the tally has the count. Otherwise passes are selected
 * (select.h), and the page is taken from the selection in order (order.h). */
#include "actors/shard/list/list_in.h"
#include "actors/shard/list/list_out.h"
#include "actors/shard/pass/order.h"
#include "schemas/api/pass.h"
#include "store/tally.h"

/* Arguments ------------------------------------------------------------------------------------------------ */

static enum err take_filter(struct request *request, struct outcome *outcome, struct pass_filter *filter)
{
	const msgpack_object *args = request->args;
	wall_us               created[2], updated[2];
	enum err              err;
	filter->with_deleted = arg_boolean(&args[ARG_PASS_LIST_include_deleted], false);
	if ((err = list_take_q(request, outcome, &args[ARG_PASS_LIST_q], &filter->q))) return err;
	err = list_take_statuses(outcome, &args[ARG_PASS_LIST_status], pass_status_text, PASS_STATUSES,
	                         &filter->statuses);
	if (err) return err;
	err = list_take_range(outcome, &args[ARG_PASS_LIST_created_from], &args[ARG_PASS_LIST_created_to],
	                      (const char *[]){"created_from", "created_to"}, created);
	if (err) return err;
	err = list_take_range(outcome, &args[ARG_PASS_LIST_updated_from], &args[ARG_PASS_LIST_updated_to],
	                      (const char *[]){"updated_from", "updated_to"}, updated);
	if (err) return err;
	filter->created_from = created[0];
	filter->created_to = created[1];
	filter->updated_from = updated[0];
	filter->updated_to = updated[1];
	return OK;
}

static const char *order_text(unsigned order)
{
	static const char *const texts[] = {[ORDER_CREATED] = "created_at",
	                                    [ORDER_UPDATED] = "updated_at",
	                                    [ORDER_ID] = "id",
	                                    [ORDER_NAME] = "name"};
	return texts[order];
}

static enum err take_order(const struct request *request, struct outcome *outcome, struct page *page)
{
	const msgpack_object *by = &request->args[ARG_PASS_LIST_sort_by];
	page->order = ORDER_CREATED;
	if (arg_present(by)) {
		unsigned i = 0;
		while (i < 4 && !span_is(arg_span(by), order_text(i)))
			i++;
		if (i == 4) return list_refuse_word(outcome, "sort_by", order_text, 4);
		page->order = (enum pass_order)i;
	}
	page->skip = (uint64_t)arg_integer(&request->args[ARG_PASS_LIST_offset], 0);
	page->limit = (uint64_t)arg_integer(&request->args[ARG_PASS_LIST_limit], PAGE_LIMIT_DEFAULT);
	return list_take_dir(outcome, &request->args[ARG_PASS_LIST_sort_dir], &page->ascending);
}

/* ---------------------------------------------------------------------------------------------------------- */

static enum err select_page(struct request *request, const struct pass_filter *filter, struct page *page,
                            uint64_t *total)
{
	struct columns  *columns = NULL;
	struct selection selection = {.total = 0};
	enum err         err = select_passes(request, filter, &columns, &selection);
	if (!err) err = order_page(request, &selection, page);
	*total = selection.total;
	columns_give(request->kept, &columns);
	return err;
}

/* Without a filter the count is in the tally. */
static enum err find(struct request *request, const struct pass_filter *filter, struct page *page,
                     uint64_t *total)
{
	enum { NEAR = 4096 }; /* a few rows of statuses */
	struct tally tally;
	enum err     err = tally_get(request->view, request->account->id, &tally);
	if (err) return err;
	if (!filter_is_plain(filter) || page->order == ORDER_UPDATED)
		return select_page(request, filter, page, total);
	*total = filter->with_deleted ? tally.made : tally_live(&tally);
	struct selection all = {.all = true, .made = tally.made, .total = *total};
	if (*total == tally.made) return order_page(request, &all, page);
	/* Near the beginning a few rows of statuses are enough. */
	bool is_near = page->skip + page->limit <= NEAR;
	if (page->order != ORDER_CREATED || !is_near) return select_page(request, filter, page, total);
	return page->skip < *total ? order_by_statuses(request, tally.made, filter_statuses(filter), page)
	                           : OK;
}

static enum err show(struct request *request, const struct page *page, struct list_out *list)
{
	struct hot_at pass;
	enum err      err = OK;
	for (uint32_t i = 0; !err && !list->err && i < page->count; i++)
		if (!(err = hot_get(request->view, request->account->id, page->numbers[i], &pass)))
			err = pass_show(request, &pass, list_item(list));
	return err;
}

enum err on_PASS_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out    list;
	struct pass_filter filter = {.statuses = 0};
	struct page        page = {.count = 0};
	uint64_t           total;
	enum err           err = take_filter(request, outcome, &filter);
	if (err || (err = take_order(request, outcome, &page))) return err;
	filter.keep_updated = page.order == ORDER_UPDATED;
	uint64_t skipped = page.skip;
	if ((err = find(request, &filter, &page, &total))) return err;
	list_begin(&list, outcome);
	if (!(err = show(request, &page, &list)))
		err = list_end(&list, total, total > skipped && total - skipped > page.count);
	list_drop(&list);
	return err;
}
