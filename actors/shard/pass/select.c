/* Selecting passes by number. Numbers are in order of creation, so bounds on created_at are bounds on numbers. Passes selected
 * by status are then filtered by time of update, and searched. */
#include "actors/shard/pass/select.h"

#include "actors/shard/pass/search.h"
#include "store/status.h"
#include "store/tally.h"

enum err select_none(struct request *request, uint32_t made, struct selection *selection)
{
	size_t bytes = (made / 64 + 1) * sizeof *selection->bits;
	*selection = (struct selection){.made = made, .bits = arena_take(view_arena(request->view), bytes)};
	if (!selection->bits) return ERR_NO_MEMORY;
	memset(selection->bits, 0, bytes);
	return OK;
}

static bool is_any_update(const struct pass_filter *filter)
{
	return filter->updated_from.v == INT64_MIN && filter->updated_to.v == INT64_MAX;
}

bool filter_is_plain(const struct pass_filter *filter)
{
	return filter->statuses == 0 && filter->q.size == 0 && filter->created_from.v == INT64_MIN &&
	       filter->created_to.v == INT64_MAX && is_any_update(filter);
}

uint16_t filter_statuses(const struct pass_filter *filter)
{
	unsigned all = (1u << STATUS_DELETED) - 1, statuses = filter->statuses ? filter->statuses : all;
	bool     deleted = filter->with_deleted && statuses >> PASS_DEACTIVATED & 1; /* their status */
	return (uint16_t)(statuses | (deleted ? all << STATUS_DELETED : 0));
}

/* The first number that was created at `at` or later. */
static enum err first_created(struct request *request, uint32_t made, wall_us at, uint32_t *number)
{
	uint32_t low = 0, high = made;
	while (low < high) {
		struct hot_at pass;
		uint32_t      middle = low + (high - low) / 2;
		enum err      err = hot_get(request->view, request->account->id, middle, &pass);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (pass.now.created.v < at.v)
			low = middle + 1;
		else
			high = middle;
	}
	*number = low;
	return OK;
}

struct sweep {
	const struct pass_filter *filter;
	uint32_t                  from, to; /* numbers */
	struct selection         *selection;
};

/* The bits of `mask`, for passes from number `first` on, that lie in the range of the sweep. */
static uint64_t in_range(const struct sweep *sweep, uint32_t first, uint64_t mask)
{
	if (first + 64 <= sweep->from || first >= sweep->to) return 0;
	if (first < sweep->from) mask &= UINT64_MAX << (sweep->from - first);
	if (sweep->to - first < 64) mask &= (UINT64_C(1) << (sweep->to - first)) - 1;
	return mask;
}

static void take_word(struct sweep *sweep, uint32_t word, uint64_t mask)
{
	sweep->selection->bits[word] = mask;
	sweep->selection->total += (unsigned)__builtin_popcountll(mask);
}

/* The bounds of a word often decide without reading its passes. */
static uint64_t updated_in_time(const struct columns *columns, const struct pass_filter *filter,
                                uint32_t word)
{
	int64_t  from = filter->updated_from.v, to = filter->updated_to.v;
	uint32_t left = columns->made - word * COLUMN_WORD;
	uint64_t mask = 0;
	if (columns->newest[word] < from || columns->oldest[word] >= to) return 0;
	if (columns->oldest[word] >= from && columns->newest[word] < to) return UINT64_MAX;
	const int64_t *updated = columns->of.updated + (size_t)word * COLUMN_WORD;
	for (uint32_t i = 0; i < COLUMN_WORD && i < left; i++)
		mask |= (uint64_t)(updated[i] >= from && updated[i] < to) << i;
	return mask;
}

/* Keeps the selected passes whose time of update is in the range. */
static void sweep_columns(struct sweep *sweep, const struct columns *columns)
{
	struct selection *selection = sweep->selection;
	selection->total = 0;
	for (uint32_t word = sweep->from / 64; word * UINT64_C(64) < sweep->to; word++) {
		uint64_t mask = selection->bits[word];
		take_word(sweep, word, mask ? mask & updated_in_time(columns, sweep->filter, word) : 0);
	}
}

static void take_statuses(struct sweep *sweep, const uint8_t *row, uint32_t first)
{
	uint16_t wanted = filter_statuses(sweep->filter);
	for (uint32_t i = 0; i < STATUS_PASSES && first + i < sweep->to; i += 64)
		take_word(sweep, (first + i) / 64, in_range(sweep, first + i, status_mask(row + i, wanted)));
}

static enum err sweep_statuses(struct request *request, struct sweep *sweep)
{
	uint32_t row = sweep->from / STATUS_PASSES;
	for (; row * (uint64_t)STATUS_PASSES < sweep->to; row++) {
		const uint8_t *statuses;
		enum err       err = status_row_get(request->view, request->account->id, row, &statuses);
		if (err) return err;
		take_statuses(sweep, statuses, row * STATUS_PASSES);
	}
	return OK;
}

static enum err find_range(struct request *request, const struct pass_filter *filter, struct sweep *sweep)
{
	uint32_t made = sweep->to;
	enum err err = OK;
	if (filter->created_from.v != INT64_MIN)
		err = first_created(request, made, filter->created_from, &sweep->from);
	if (!err && filter->created_to.v != INT64_MAX)
		err = first_created(request, made, filter->created_to, &sweep->to);
	return err;
}

enum err select_passes(struct request *request, const struct pass_filter *filter, struct columns **columns,
                       struct selection *selection)
{
	struct tally tally;
	uint64_t    *found = NULL;
	*columns = NULL;
	enum err     err = tally_get(request->view, request->account->id, &tally);
	struct sweep sweep = {.filter = filter, .to = tally.made, .selection = selection};
	if (err || (err = select_none(request, tally.made, selection))) return err;
	if ((err = find_range(request, filter, &sweep))) return err;
	if ((err = sweep_statuses(request, &sweep))) return err;
	bool in_counters = counters_may_hold(filter->q, &tally);
	if (!in_counters && !filter->keep_updated && is_any_update(filter))
		return filter->q.size ? search_texts(request, filter->q, NULL, selection) : OK;
	err = columns_take(request->kept, request->view, request->account->id, tally.made, columns);
	if (err) return err;
	if (!is_any_update(filter)) sweep_columns(&sweep, *columns);
	if (filter->keep_updated) {
		selection->updated = (*columns)->of.updated;
		selection->oldest = (*columns)->oldest;
		selection->newest = (*columns)->newest;
	}
	if (!filter->q.size) return OK;
	if (in_counters) err = counters_search(request, filter->q, *columns, selection, &found);
	return err ? err : search_texts(request, filter->q, found, selection);
}
