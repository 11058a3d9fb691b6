/* The commands of scans, except create. */
#include "actors/shard/scan/scan.h"
#include "actors/shard/list/list_in.h"
#include "actors/shard/list/list_out.h"
#include "actors/shard/reader/reader.h"
#include "schemas/api/scan.h"

/* GET /v1/scans: filters, exact counts, by time of creation. It has the scans of deleted passes, but no deleted scans. */

/* "processing" is a valid status, but no scan has it. */
static enum err take_statuses(struct outcome *outcome, const msgpack_object *arg, unsigned *verdicts)
{
	*verdicts = (1u << SCAN_VERDICTS) - 1;
	if (!arg_present(arg)) return OK;
	*verdicts = 0;
	for (uint32_t i = 0; i < arg->via.array.size; i++) {
		struct span text = arg_span(&arg->via.array.ptr[i]);
		bool        known = span_is(text, "processing");
		for (unsigned verdict = 0; verdict < SCAN_VERDICTS; verdict++) {
			if (!span_is(text, scan_status_text(verdict))) continue;
			*verdicts |= 1u << verdict;
			known = true;
		}
		if (!known)
			return refuse(outcome, REASON(WANTED, "status",
			                              .wanted = "one of succeeded, failed, processing"));
	}
	return OK;
}

static enum err take_filter(struct request *request, struct outcome *outcome, struct scan_filter *filter)
{
	const msgpack_object *args = request->args;
	enum err              err;
	if ((err = list_take_q(request, outcome, &args[ARG_SCAN_LIST_q], &filter->q))) return err;
	if ((err = take_statuses(outcome, &args[ARG_SCAN_LIST_status], &filter->verdicts))) return err;
	return list_take_range(outcome, &args[ARG_SCAN_LIST_created_from], &args[ARG_SCAN_LIST_created_to],
	                       (const char *[]){"created_from", "created_to"}, filter->created);
}

static enum err take_order(const struct request *request, struct outcome *outcome, struct page *page)
{
	const msgpack_object *by = &request->args[ARG_SCAN_LIST_sort_by];
	page->order = ORDER_CREATED;
	if (arg_present(by) && !span_is(arg_span(by), "created_at"))
		return refuse(outcome, REASON(WANTED, "sort_by", .wanted = "created_at"));
	page->skip = (uint64_t)arg_integer(&request->args[ARG_SCAN_LIST_offset], 0);
	page->limit = (uint64_t)arg_integer(&request->args[ARG_SCAN_LIST_limit], PAGE_LIMIT_DEFAULT);
	return list_take_dir(outcome, &request->args[ARG_SCAN_LIST_sort_dir], &page->ascending);
}

static enum err show(struct request *request, const struct page *page, struct list_out *list)
{
	unsigned    form = SCAN_SPACED;
	uint32_t    at = UINT32_MAX; /* the row's number */
	struct span row = {NULL, 0};
	enum err    err = OK;
	if (arg_boolean(&request->args[ARG_SCAN_LIST_pass_info], false)) form |= SCAN_WITH_PASS;
	for (uint32_t i = 0; !err && i < page->count; i++) {
		uint32_t number = page->numbers[i];
		if (at != number / SCAN_ROW_SCANS) {
			at = number / SCAN_ROW_SCANS;
			if ((err = scan_rows_get(request->view, request->account->id, at, &row))) break;
		}
		struct scan_row scan = scan_rows_member(row, number % SCAN_ROW_SCANS);
		err = scan_show(request, &scan, form, list_item(list));
	}
	return err;
}

enum err on_SCAN_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out    list;
	struct scan_filter filter;
	struct selection   selection;
	struct page        page = {.count = 0};
	enum err           err = take_filter(request, outcome, &filter);
	if (err || (err = take_order(request, outcome, &page))) return err;
	uint64_t skipped = page.skip;
	if ((err = select_scans(request, &filter, &selection))) return err;
	if ((err = order_page(request, &selection, &page))) return err;
	list_begin(&list, outcome);
	if (!(err = show(request, &page, &list)))
		err = list_end(&list, selection.total,
		               selection.total > skipped && selection.total - skipped > page.count);
	list_drop(&list);
	return err;
}

/* scan delete ACCOUNT SCAN_ID: removes the scan from lists and counts, and discards its pending deliveries. Its effects on the
 * pass remain. */
enum err on_SCAN_DELETE(struct request *request, struct outcome *outcome)
{
	struct uuid     id;
	struct scan_row scan;
	uint32_t        number;
	msgpack_packer  pk = buffer_packer(outcome->payload);
	enum err        err = arg_uuid(&request->args[ARG_SCAN_DELETE_scan_id], &id);
	if (!err) err = scan_row_find(request->view, request->account->id, id, &number, &scan);
	if (err == ERR_NOT_FOUND || (!err && scan.deleted)) return ERR_RESOURCE_NOT_FOUND;
	if (err || (err = scan_gather(request->view, request->account->id, &request->ends))) return err;
	if ((err = reader_give_up(request, scan.reader))) return err;
	if ((err = scan_row_delete(request->view, request->account->id, number))) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
