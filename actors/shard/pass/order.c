/* Four orders. Numbers are the order of creation. Orders by id and name are stored as chunks of numbers. The order of updates
 * is not stored, because every delta changes it: the page is computed from all selected passes. A page near the beginning is
 * the best passes found so far; words whose bounds are worse are skipped. For any other page a histogram counts the passes in
 * each of many spans of time, and only the spans that contain the page are sorted. */
#include "actors/shard/pass/order.h"

#include "store/chunk.h"
#include "store/status.h"
#include "store/stream.h"

#include <stdlib.h>

static bool is_full(const struct page *page)
{
	return page->count >= page->limit;
}

/* Adds the next pass in order, or skips it if passes are still to be skipped. */
static void take(struct page *page, uint32_t number)
{
	if (page->skip)
		page->skip--;
	else if (!is_full(page))
		page->numbers[page->count++] = number;
}

/* By creation -------------------------------------------------------------------------------------------- */

static void take_word(uint64_t bits, uint32_t word, struct page *page)
{
	unsigned count = (unsigned)__builtin_popcountll(bits);
	if (page->skip >= count) {
		page->skip -= count;
		return;
	}
	for (; bits && !is_full(page);) {
		unsigned bit = page->ascending ? (unsigned)__builtin_ctzll(bits)
		                               : 63 - (unsigned)__builtin_clzll(bits);
		bits &= ~(UINT64_C(1) << bit);
		take(page, word * 64 + bit);
	}
}

static void by_creation(const struct selection *selection, struct page *page)
{
	uint32_t words = (selection->made + 63) / 64;
	if (selection->all) {
		for (uint64_t i = page->skip; i < selection->made && !is_full(page); i++)
			page->numbers[page->count++] = (uint32_t)(page->ascending ? i
			                                                          : selection->made - 1 - i);
		return;
	}
	for (uint32_t i = 0; i < words && !is_full(page); i++) {
		uint32_t word = page->ascending ? i : words - 1 - i;
		take_word(selection->bits[word], word, page);
	}
}

/* Takes a row's passes with these statuses, forward or backward. */
static void take_statuses(const uint8_t *row, uint32_t first, uint16_t statuses, struct page *page)
{
	enum { WORDS = STATUS_PASSES / 64 };
	for (unsigned i = 0; i < WORDS && !is_full(page); i++) {
		unsigned word = page->ascending ? i : WORDS - 1 - i;
		take_word(status_mask(row + (size_t)word * 64, statuses), first / 64 + word, page);
	}
}

enum err order_by_statuses(struct request *request, uint32_t made, uint16_t statuses, struct page *page)
{
	uint32_t rows = (made + STATUS_PASSES - 1) / STATUS_PASSES;
	page->count = 0;
	for (uint32_t i = 0; i < rows && !is_full(page); i++) {
		uint32_t       number = page->ascending ? i : rows - 1 - i;
		const uint8_t *row;
		enum err       err = status_row_get(request->view, request->account->id, number, &row);
		if (err) return err;
		take_statuses(row, number * STATUS_PASSES, statuses, page);
	}
	return OK;
}

/* By update ---------------------------------------------------------------------------------------------- */

struct updated {
	int64_t  at;
	uint32_t number;
};

enum { SPANS = 4096, SORTED_AT_ONCE = 2048, LOOKS_MAX = 8, NEAR = 1024 };

/* A histogram: equal spans of time from `from` on, each of 2^shift µs, and the number of passes in each. */
struct spans {
	int64_t  from;
	unsigned shift;
	uint32_t counts[SPANS];
};

static void spans_begin(struct spans *spans, int64_t oldest, int64_t newest)
{
	uint64_t width = (uint64_t)newest - (uint64_t)oldest;
	memset(spans->counts, 0, sizeof spans->counts);
	spans->from = oldest;
	spans->shift = 0;
	while (width >> spans->shift >= SPANS)
		spans->shift++;
}

static unsigned span_index(const struct spans *spans, int64_t at)
{
	return (unsigned)(((uint64_t)at - (uint64_t)spans->from) >> spans->shift);
}

/* The spans that contain positions from .. to - 1 of the order, and the numbers of passes before them and in them. */
struct cut {
	unsigned first, last;
	uint64_t before, inside;
};

static struct cut spans_cut(const struct spans *spans, uint64_t from, uint64_t to)
{
	struct cut cut = {.first = 0};
	while (cut.first < SPANS - 1 && cut.before + spans->counts[cut.first] <= from)
		cut.before += spans->counts[cut.first++];
	cut.last = cut.first;
	cut.inside = spans->counts[cut.first];
	while (cut.last < SPANS - 1 && cut.before + cut.inside < to)
		cut.inside += spans->counts[++cut.last];
	return cut;
}

static bool is_in(const struct spans *spans, const struct cut *cut, int64_t at)
{
	unsigned index = span_index(spans, at);
	return index >= cut->first && index <= cut->last;
}

static int compare(const void *a, const void *b)
{
	const struct updated *x = a, *y = b;
	if (x->at != y->at) return x->at < y->at ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

struct pick {
	struct updated *list; /* in the order of numbers until it is sorted */
	uint64_t        count;
	uint64_t        from, to; /* positions of the page in it */
	struct spans    spans;
};

static void count_word(const struct selection *selection, uint32_t word, struct spans *spans)
{
	const int64_t *updated = selection->updated + (size_t)word * 64;
	uint64_t       bits = selected_word(selection, word);
	unsigned       first = span_index(spans, selection->oldest[word]);
	if (first == span_index(spans, selection->newest[word])) {
		spans->counts[first] += (unsigned)__builtin_popcountll(bits);
		return;
	}
	for (; bits; bits &= bits - 1)
		spans->counts[span_index(spans, updated[__builtin_ctzll(bits)])]++;
}

static void list_word(const struct selection *selection, uint32_t word, const struct cut *cut,
                      struct pick *pick)
{
	const int64_t *updated = selection->updated + (size_t)word * 64;
	if (span_index(&pick->spans, selection->newest[word]) < cut->first ||
	    span_index(&pick->spans, selection->oldest[word]) > cut->last)
		return;
	for (uint64_t bits = selected_word(selection, word); bits; bits &= bits - 1) {
		unsigned bit = (unsigned)__builtin_ctzll(bits);
		if (is_in(&pick->spans, cut, updated[bit]))
			pick->list[pick->count++] = (struct updated){updated[bit], word * 64 + bit};
	}
}

/* Counts every selected pass, then lists those in the spans of the page. */
static enum err pick_begin(const struct selection *selection, struct pick *pick)
{
	uint32_t words = (selection->made + 63) / 64;
	int64_t  oldest = INT64_MAX, newest = INT64_MIN;
	for (uint32_t word = 0; word < words; word++) {
		if (!selected_word(selection, word)) continue;
		oldest = selection->oldest[word] < oldest ? selection->oldest[word] : oldest;
		newest = selection->newest[word] > newest ? selection->newest[word] : newest;
	}
	spans_begin(&pick->spans, oldest, newest);
	for (uint32_t word = 0; word < words; word++)
		if (selected_word(selection, word)) count_word(selection, word, &pick->spans);
	struct cut cut = spans_cut(&pick->spans, pick->from, pick->to);
	pick->from -= cut.before;
	pick->to -= cut.before;
	if (!(pick->list = malloc((cut.inside + 1) * sizeof *pick->list))) return ERR_NO_MEMORY;
	for (uint32_t word = 0; word < words; word++)
		if (selected_word(selection, word)) list_word(selection, word, &cut, pick);
	return OK;
}

/* The same among the listed passes. False: all have the same time, so the list is sorted. */
static bool pick_closer(struct pick *pick)
{
	int64_t  oldest = INT64_MAX, newest = INT64_MIN;
	uint64_t kept = 0;
	for (uint64_t i = 0; i < pick->count; i++) {
		if (pick->list[i].at < oldest) oldest = pick->list[i].at;
		if (pick->list[i].at > newest) newest = pick->list[i].at;
	}
	if (oldest >= newest) return false;
	spans_begin(&pick->spans, oldest, newest);
	for (uint64_t i = 0; i < pick->count; i++)
		pick->spans.counts[span_index(&pick->spans, pick->list[i].at)]++;
	struct cut cut = spans_cut(&pick->spans, pick->from, pick->to);
	for (uint64_t i = 0; i < pick->count; i++)
		if (is_in(&pick->spans, &cut, pick->list[i].at)) pick->list[kept++] = pick->list[i];
	pick->count = kept;
	pick->from -= cut.before;
	pick->to -= cut.before;
	return true;
}

static enum err by_spans(const struct selection *selection, uint64_t count, struct page *page)
{
	struct pick pick = {.from = page->skip};
	bool        differ = true;
	if (!page->ascending) pick.from = selection->total - page->skip - count;
	pick.to = pick.from + count;
	enum err err = pick_begin(selection, &pick);
	if (err) return err;
	for (unsigned i = 0; differ && pick.count > SORTED_AT_ONCE && i < LOOKS_MAX; i++)
		differ = pick_closer(&pick);
	if (differ) qsort(pick.list, pick.count, sizeof *pick.list, compare);
	for (uint64_t i = 0; i < count; i++)
		page->numbers[page->count++] =
		    pick.list[page->ascending ? pick.from + i : pick.to - 1 - i].number;
	free(pick.list);
	return OK;
}

/* The `wanted` best passes of those compared so far, in order, and some more behind them. */
struct best {
	bool           ascending;
	unsigned       wanted, count;
	struct updated list[2 * NEAR];
};

static int compare_back(const void *a, const void *b)
{
	return compare(b, a);
}

static void best_sort(struct best *best)
{
	qsort(best->list, best->count, sizeof *best->list, best->ascending ? compare : compare_back);
	if (best->count > best->wanted) best->count = best->wanted;
}

/* Do `wanted` passes come before this one? Unknown, and false, until the list was sorted. */
static bool is_beaten(const struct best *best, bool is_sorted, const struct updated *one)
{
	int order = is_sorted ? compare(one, &best->list[best->wanted - 1]) : 0;
	return best->ascending ? order > 0 : order < 0;
}

static void best_word(const struct selection *selection, uint32_t word, bool *is_sorted, struct best *best)
{
	uint64_t bits = selected_word(selection, word);
	if (!bits) return;
	struct updated one = {best->ascending ? selection->oldest[word] : selection->newest[word],
	                      best->ascending ? word * 64 : word * 64 + 63};
	if (is_beaten(best, *is_sorted, &one)) return; /* not even the best pass it may have */
	for (; bits; bits &= bits - 1) {
		one.number = word * 64 + (uint32_t)__builtin_ctzll(bits);
		one.at = selection->updated[one.number];
		if (is_beaten(best, *is_sorted, &one)) continue;
		best->list[best->count++] = one;
		if (best->count < 2 * NEAR) continue;
		best_sort(best);
		*is_sorted = true;
	}
}

/* A page within the first NEAR passes. */
static void by_best(const struct selection *selection, uint64_t count, struct page *page)
{
	uint32_t    words = (selection->made + 63) / 64;
	bool        is_sorted = false;
	struct best best;
	best.ascending = page->ascending;
	best.wanted = (unsigned)(page->skip + count);
	best.count = 0;
	for (uint32_t i = 0; i < words; i++)
		best_word(selection, page->ascending ? i : words - 1 - i, &is_sorted, &best);
	best_sort(&best);
	for (uint64_t i = page->skip; i < page->skip + count; i++)
		page->numbers[page->count++] = best.list[i].number;
}

static enum err by_update(const struct selection *selection, struct page *page)
{
	uint64_t left = selection->total - page->skip, count = left < page->limit ? left : page->limit;
	if (page->skip + count > NEAR) return by_spans(selection, count, page);
	by_best(selection, count, page);
	return OK;
}

/* By id and by name -------------------------------------------------------------------------------------- */

static unsigned count_selected(const struct selection *selection, struct span row)
{
	unsigned count = chunk_row_count(row), found = 0;
	if (selection->all) return count;
	for (unsigned i = 0; i < count; i++)
		found += is_selected(selection, chunk_row_number(row, i));
	return found;
}

static void take_chunk(const struct selection *selection, struct span row, struct page *page)
{
	unsigned count = chunk_row_count(row), found = count_selected(selection, row);
	if (page->skip >= found) {
		page->skip -= found;
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		uint32_t number = chunk_row_number(row, page->ascending ? i : count - 1 - i);
		if (is_selected(selection, number)) take(page, number);
	}
}

/* A key behind all rows of the account: no UTF-8 text begins with these bytes. */
static struct row_key end_of(struct account_id account)
{
	struct row_key end = key_account(account);
	memset(end.bytes + end.size, 0xff, 8);
	end.size += 8;
	return end;
}

static enum err walk_down(struct request *request, enum table table, const struct selection *selection,
                          struct page *page)
{
	struct row_key  account = key_account(request->account->id), end = end_of(request->account->id);
	struct view_row row;
	enum err        err = view_before(request->view, table, key_span(&end), &row);
	while (!err && key_has_prefix(row.key, key_span(&account)) && !is_full(page)) {
		if (!chunk_row_is_whole(row.value)) return ERR_DAMAGED;
		take_chunk(selection, row.value, page);
		err = view_previous(request->view, table, &row);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err walk_up(struct request *request, enum table table, const struct selection *selection,
                        struct page *page)
{
	enum { ROWS = 8 };
	struct row_key  account = key_account(request->account->id);
	struct stream   stream = stream_from(request->view, table, &account);
	struct view_row rows[ROWS];
	unsigned        count = ROWS;
	while (count == ROWS && !is_full(page)) {
		enum err err = stream_next(&stream, rows, ROWS, &count);
		if (err) return err;
		for (unsigned i = 0; i < count && !is_full(page); i++) {
			if (!key_has_prefix(rows[i].key, key_span(&account))) return OK;
			if (!chunk_row_is_whole(rows[i].value)) return ERR_DAMAGED;
			take_chunk(selection, rows[i].value, page);
		}
	}
	return OK;
}

static enum err walk_chunks(struct request *request, enum table table, const struct selection *selection,
                            struct page *page)
{
	return page->ascending ? walk_up(request, table, selection, page)
	                       : walk_down(request, table, selection, page);
}

/* Walks from the end of the order that is nearer to the page. */
static enum err by_chunks(struct request *request, enum table table, const struct selection *selection,
                          struct page *page)
{
	uint64_t left = selection->total - page->skip, count = left < page->limit ? left : page->limit;
	uint64_t behind = left - count;
	if (behind >= page->skip) return walk_chunks(request, table, selection, page);
	page->ascending = !page->ascending;
	page->skip = behind;
	page->limit = count;
	enum err err = walk_chunks(request, table, selection, page);
	for (uint32_t i = 0; i < page->count / 2; i++) {
		uint32_t other = page->count - 1 - i, number = page->numbers[i];
		page->numbers[i] = page->numbers[other];
		page->numbers[other] = number;
	}
	return err;
}

enum err order_page(struct request *request, const struct selection *selection, struct page *page)
{
	page->count = 0;
	if (page->skip >= selection->total) return OK;
	switch (page->order) {
	case ORDER_CREATED: by_creation(selection, page); return OK;
	case ORDER_UPDATED: return by_update(selection, page);
	case ORDER_ID: return by_chunks(request, TABLE_ID_ORDER, selection, page);
	case ORDER_NAME: return by_chunks(request, TABLE_NAME_ORDER, selection, page);
	}
	return OK;
}
