/* GET /v1/notifications: filters, two orders, exact counts; times of Mexico City. And notification list ACCOUNT: all of them, in
 * the default order of the former. */
#include "actors/shard/list/list_in.h"
#include "actors/shard/list/list_out.h"
#include "actors/shard/notification/notification.h"
#include "schemas/object_msgpack.h"
#include "actors/shard/pass/order.h"
#include "schemas/api/notification.h"
#include "schemas/mexico.h"

#include <stdlib.h>

static enum err take_filter(struct request *request, struct outcome *outcome,
                            struct notification_filter *filter)
{
	const msgpack_object *args = request->args;
	enum err              err = list_take_q(request, outcome, &args[ARG_NOTIFICATION_LIST_q], &filter->q);
	if (err) return err;
	err = list_take_statuses(outcome, &args[ARG_NOTIFICATION_LIST_status], notification_status_text,
	                         NOTIFICATION_STATUSES, &filter->statuses);
	if (err) return err;
	return list_take_range(outcome, &args[ARG_NOTIFICATION_LIST_scheduled_from],
	                       &args[ARG_NOTIFICATION_LIST_scheduled_to],
	                       (const char *[]){"scheduled_from", "scheduled_to"}, filter->scheduled);
}

static enum err take_order(const struct request *request, struct outcome *outcome, struct page *page)
{
	const msgpack_object *args = request->args, *by = &args[ARG_NOTIFICATION_LIST_sort_by];
	page->order = ORDER_UPDATED; /* stands for scheduled_at */
	if (arg_present(by) && !span_is(arg_span(by), "scheduled_at")) {
		if (!span_is(arg_span(by), "created_at"))
			return refuse(outcome,
			              REASON(WANTED, "sort_by", .wanted = "scheduled_at or created_at"));
		page->order = ORDER_CREATED;
	}
	page->skip = (uint64_t)arg_integer(&args[ARG_NOTIFICATION_LIST_offset], 0);
	page->limit = (uint64_t)arg_integer(&args[ARG_NOTIFICATION_LIST_limit], NOTIFICATIONS_PAGE_DEFAULT);
	return list_take_dir(outcome, &args[ARG_NOTIFICATION_LIST_sort_dir], &page->ascending);
}

static void pack_MEXICO_TIME(msgpack_packer *pk, wall_us at)
{
	char text[MEXICO_TEXT];
	mexico_text(at, text);
	pack_text(pk, text);
}

/* The id of the pass that it is for; size 0: it is for an audience. */
static enum err find_pass_id(struct request *request, const struct notification *row, struct buffer *room,
                             struct span *pass_id)
{
	struct hot_at pass = {.account = request->account->id, .number = row->pass_number};
	struct body   body = {.pass_id = span_of(NULL, 0)};
	enum err      err = row->to_audience ? OK : pass_body_in(request, &pass, room, &body);
	*pass_id = body.pass_id;
	return err;
}

enum err notification_show(struct request *request, uint32_t number, struct buffer *out)
{
	struct account_id         account = request->account->id;
	struct notification       row;
	struct notification_state state;
	struct span               pass_id;
	struct buffer             room = {0};
	msgpack_packer            packer = buffer_packer(out), *pk = &packer;
	enum err                  err = notification_get(request->view, account, number, &row);
	if (!err) err = notification_state_get(request->view, account, number, &state);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (!(err = find_pass_id(request, &row, &room, &pass_id))) {
		size_t map = map_begin(pk);
#include "schemas/objects/notification.def"
	}
	buffer_free(&room);
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct notification_due *x = a, *y = b;
	if (x->at.v != y->at.v) return x->at.v < y->at.v ? 1 : -1;
	return x->number < y->number ? 1 : -1;
}

/* Sorts all at once: finding each page by itself would take a search a page. */
static enum err list_all(struct request *request, const struct selection *selection, struct list_out *list)
{
	size_t                   count = 0;
	struct notification_due *found = calloc(selection->total + 1, sizeof *found);
	enum err                 err = found ? OK : ERR_NO_MEMORY;
	for (uint32_t i = 0; found && selection->total && i < selection->made; i++)
		if (is_selected(selection, i))
			found[count++] = (struct notification_due){.at = {selection->updated[i]},
			                                           .number = i};
	if (count) qsort(found, count, sizeof *found, by_time);
	for (size_t i = 0; i < count && !err; i++) {
		err = notification_show(request, found[i].number, list_item(list));
		if (!err) err = list_may_go_on(list, request);
	}
	free(found);
	return err;
}

static enum err list_page(struct request *request, const struct selection *selection, struct page *page,
                          struct list_out *list)
{
	enum err err = order_page(request, selection, page);
	for (uint32_t i = 0; i < page->count && !err; i++)
		err = notification_show(request, page->numbers[i], list_item(list));
	return err;
}

enum err on_NOTIFICATION_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out            list;
	struct notification_filter filter = {.statuses = 0};
	struct selection           selection;
	struct page                page = {.count = 0};
	enum err                   err = take_filter(request, outcome, &filter);
	if (err || (err = take_order(request, outcome, &page))) return err;
	uint64_t skipped = page.skip;
	filter.keep_scheduled = page.order == ORDER_UPDATED;
	if ((err = select_notifications(request, &filter, &selection))) return err;
	list_begin(&list, outcome);
	err = list_is_operators(request) ? list_all(request, &selection, &list)
	                                 : list_page(request, &selection, &page, &list);
	if (!err)
		err = list_end(&list, selection.total,
		               selection.total > skipped && selection.total - skipped > page.count);
	list_drop(&list);
	return err;
}
