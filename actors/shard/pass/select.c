/* Selecting passes. Rows are gone through in the order of numbers, which is the order of creation: bounds on created_at
 * are bounds on numbers. Where only statuses are asked for, their own small rows are swept instead of the columns. */
#include "actors/shard/pass/select.h"

#include "actors/shard/pass/search.h"
#include "store/keys.h"
#include "store/status.h"
#include "store/stream.h"
#include "store/tally.h"

bool filter_is_plain(const struct pass_filter *filter)
{
	return filter->statuses == 0 && filter->q.size == 0 && filter->created_from.v == INT64_MIN &&
	       filter->created_to.v == INT64_MAX && filter->updated_from.v == INT64_MIN &&
	       filter->updated_to.v == INT64_MAX;
}

struct hot_wanted filter_wanted(const struct pass_filter *filter)
{
	unsigned statuses = filter->statuses ? filter->statuses : (1u << PASS_STATUSES) - 1;
	return (struct hot_wanted){
	    .statuses = statuses,
	    .deleted = filter->with_deleted && statuses >> PASS_DEACTIVATED & 1, /* as which they count */
	    .updated_from = filter->updated_from,
	    .updated_to = filter->updated_to,
	};
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
	struct hot_wanted wanted;
	uint32_t          from, to; /* numbers */
	struct counters  *counters; /* those that may hold `q`; NULL: none may */
	struct selection *selection;
};

static uint64_t in_range(const struct sweep *sweep, uint32_t first, uint64_t mask)
{
	if (first < sweep->from) mask &= sweep->from - first < 64 ? UINT64_MAX << (sweep->from - first) : 0;
	if (first + HOT_PASSES > sweep->to) mask &= (UINT64_C(1) << (sweep->to - first)) - 1;
	return mask;
}

static void set_bits(uint64_t *bits, uint32_t first, uint64_t mask)
{
	bits[first / 64] |= mask << first % 64;
	if (first % 64) bits[first / 64 + 1] |= mask >> (64 - first % 64);
}

static void keep_updated(struct selection *selection, struct span row, uint32_t first)
{
	hot_row_updated(row, selection->updated + first);
	if (hot_row_oldest(row) < selection->oldest) selection->oldest = hot_row_oldest(row);
	if (hot_row_newest(row) > selection->newest) selection->newest = hot_row_newest(row);
}

static void take_row(struct sweep *sweep, struct span row, uint32_t first)
{
	struct selection *selection = sweep->selection;
	uint64_t          mask = in_range(sweep, first, hot_row_mask(row, &sweep->wanted));
	if (!mask) return;
	set_bits(selection->bits, first, mask);
	selection->total += (unsigned)__builtin_popcountll(mask);
	if (selection->updated) keep_updated(selection, row, first);
	if (sweep->counters)
		set_bits(sweep->counters->found, first, counters_hold(sweep->counters, row, mask));
}

/* The row that begins with pass `first`? */
static bool is_row_of(struct request *request, const struct view_row *row, uint32_t first)
{
	struct row_key key = key_u32(request->account->id, first / HOT_PASSES);
	return span_equal(row->key, key_span(&key)) && hot_row_is_whole(row->value);
}

static enum err sweep_columns(struct request *request, struct sweep *sweep)
{
	enum { ROWS = 32 };
	uint32_t        first = sweep->from / HOT_PASSES * HOT_PASSES;
	struct row_key  key = key_u32(request->account->id, first / HOT_PASSES);
	struct stream   stream = stream_from(request->view, TABLE_HOT, &key);
	struct view_row rows[ROWS];
	unsigned        count;
	while (first < sweep->to) {
		enum err err = stream_next(&stream, rows, ROWS, &count);
		if (err || count == 0) return err ? err : ERR_DAMAGED;
		for (unsigned i = 0; i < count && first < sweep->to; i++, first += HOT_PASSES) {
			if (!is_row_of(request, &rows[i], first)) return ERR_DAMAGED;
			take_row(sweep, rows[i].value, first);
		}
	}
	return OK;
}

static uint16_t wanted_bytes(const struct hot_wanted *wanted)
{
	unsigned deleted = wanted->deleted ? 1u << (STATUS_DELETED + PASS_DEACTIVATED) : 0;
	return (uint16_t)(wanted->statuses | deleted);
}

static void take_statuses(struct sweep *sweep, struct span row, uint32_t first)
{
	struct selection *selection = sweep->selection;
	uint16_t          wanted = wanted_bytes(&sweep->wanted);
	for (unsigned i = 0; i < STATUS_PASSES && first + i < sweep->to; i += 64) {
		uint64_t mask = status_row_mask(row, i, wanted);
		if (first + i + 64 > sweep->to) mask &= (UINT64_C(1) << (sweep->to - first - i)) - 1;
		if (first + i + 64 <= sweep->from) continue;
		if (first + i < sweep->from) mask &= UINT64_MAX << (sweep->from - first - i);
		selection->bits[(first + i) / 64] = mask;
		selection->total += (unsigned)__builtin_popcountll(mask);
	}
}

static enum err sweep_statuses(struct request *request, struct sweep *sweep)
{
	for (uint32_t row = sweep->from / STATUS_PASSES; row * (uint64_t)STATUS_PASSES < sweep->to; row++) {
		struct row_key key = key_u32(request->account->id, row);
		struct span    value;
		enum err       err = view_get(request->view, TABLE_STATUS, key_span(&key), &value);
		if (!err && !status_row_is_whole(value)) err = ERR_DAMAGED;
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		take_statuses(sweep, value, row * STATUS_PASSES);
	}
	return OK;
}

static void *take_zeroed(struct request *request, size_t count, size_t size)
{
	void *taken = arena_take(view_arena(request->view), count * size);
	return taken ? memset(taken, 0, count * size) : NULL;
}

static enum err prepare(struct request *request, const struct pass_filter *filter,
                        struct selection *selection)
{
	size_t words = selection->made / 64 + 2; /* a row's bits may reach into one more */
	selection->oldest = INT64_MAX;
	selection->newest = INT64_MIN;
	if (!(selection->bits = take_zeroed(request, words, sizeof *selection->bits))) return ERR_NO_MEMORY;
	if (!filter->keep_updated) return OK;
	selection->updated = arena_take(view_arena(request->view),
	                                (selection->made + (size_t)HOT_PASSES) * sizeof *selection->updated);
	return selection->updated ? OK : ERR_NO_MEMORY;
}

static bool needs_columns(const struct pass_filter *filter, const struct counters *counters)
{
	return filter->keep_updated || counters->found || filter->updated_from.v != INT64_MIN ||
	       filter->updated_to.v != INT64_MAX;
}

enum err select_passes(struct request *request, const struct pass_filter *filter, const struct tally *tally,
                       struct selection *selection)
{
	uint32_t        made = tally->made;
	struct sweep    sweep = {.wanted = filter_wanted(filter), .to = made, .selection = selection};
	struct counters counters;
	*selection = (struct selection){.made = made};
	enum err err = prepare(request, filter, selection);
	if (err) return err;
	if (filter->created_from.v != INT64_MIN &&
	    (err = first_created(request, made, filter->created_from, &sweep.from)))
		return err;
	if (filter->created_to.v != INT64_MAX &&
	    (err = first_created(request, made, filter->created_to, &sweep.to)))
		return err;
	if ((err = counters_begin(request, filter->q, tally, &counters))) return err;
	if (counters.found) sweep.counters = &counters;
	err = needs_columns(filter, &counters) ? sweep_columns(request, &sweep)
	                                       : sweep_statuses(request, &sweep);
	if (!err && filter->q.size) err = search_texts(request, filter->q, counters.found, selection);
	counters_end(&counters);
	return err;
}
