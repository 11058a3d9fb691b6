/* GET /v1/passes: newest first. Rows of hot columns are skipped by their counts alone until the offset is
 * reached, so a page in the middle of a million passes reads some 25,000 row heads and 100 bodies. */
#include "actors/shard/list_out.h"
#include "actors/shard/pass/pass.h"
#include "store/keys.h"
#include "store/tally.h"

struct page {
	bool     with_deleted;
	uint64_t skip, left; /* rows still to pass over, rows still to show */
};

static uint32_t matching(const struct page *page, const uint8_t *counts)
{
	return page->with_deleted ? counts[HOT_COUNT_USED]
	                          : (uint32_t)counts[HOT_COUNT_USED] - counts[HOT_COUNT_DELETED];
}

/* Shows what of one row belongs to the page. */
static enum err show_row(struct request *request, struct page *page, struct hot_at *pass,
                         struct list_out *list)
{
	uint32_t base = pass->number;
	for (unsigned i = hot_row_counts(pass->row)[HOT_COUNT_USED]; i-- > 0 && page->left;) {
		pass->now = hot_row_pass(pass->row, i);
		pass->number = base + i;
		if (pass->now.flags & HOT_DELETED && !page->with_deleted) continue;
		if (page->skip) {
			page->skip--;
			continue;
		}
		enum err err = pass_show(request, pass, list_item(list));
		if (err) return err;
		page->left--;
	}
	return OK;
}

static enum err show_page(struct request *request, uint32_t made, struct page *page, struct list_out *list)
{
	struct hot_at pass = {.account = request->account->id};
	for (uint32_t row = (made + HOT_PASSES - 1) / HOT_PASSES; row-- > 0 && page->left;) {
		struct row_key key = key_u32(pass.account, row);
		enum err       err = view_get(request->view, TABLE_HOT, key_span(&key), &pass.row);
		if (err || !hot_row_is_whole(pass.row))
			return err && err != ERR_NOT_FOUND ? err : ERR_DAMAGED;
		uint32_t count = matching(page, hot_row_counts(pass.row));
		if (page->skip >= count) {
			page->skip -= count;
			continue;
		}
		pass.number = row * HOT_PASSES;
		if ((err = show_row(request, page, &pass, list))) return err;
	}
	return OK;
}

enum err on_PASS_LIST(struct request *request, struct outcome *outcome)
{
	struct tally    tally;
	struct list_out list;
	struct page     page = {
	        .with_deleted = arg_boolean(&request->args[ARG_PASS_LIST_include_deleted], false),
	        .skip = (uint64_t)arg_integer(&request->args[ARG_PASS_LIST_offset], 0),
	        .left = (uint64_t)arg_integer(&request->args[ARG_PASS_LIST_limit], PAGE_LIMIT_DEFAULT),
        };
	enum err err = tally_get(request->view, request->account->id, &tally);
	if (err) return err;
	uint64_t total = page.with_deleted ? tally.made : tally_live(&tally);
	uint64_t end = page.skip > total ? total : page.skip + page.left;
	list_begin(&list, outcome);
	if (page.skip < total) err = show_page(request, tally.made, &page, &list);
	if (!err) err = list_end(&list, total, end < total);
	list_drop(&list);
	return err;
}
