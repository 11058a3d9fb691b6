/* Selects notifications. One sweep through the columns, 64 notifications a word of bits; a row's head often decides without a
 * look at each. Then, with `q`, one search of the remaining texts. */
#include "actors/shard/notification/notification.h"

#include "actors/shard/list/text_search.h"
#include "schemas/fold.h"
#include "schemas/search.h"
#include "store/keys.h"
#include "store/stream.h"

_Static_assert(NOTICES == 64, "a row is a word of the selection");

/* Columns ------------------------------------------------------------------------------------------------------ */

static uint64_t mask_by_status(struct span row, unsigned statuses, uint64_t all)
{
	const uint8_t *counts = notices_row_counts(row), *status = notices_row_statuses(row);
	unsigned       wanted = 0;
	uint64_t       mask = 0;
	for (unsigned i = 0; i < NOTIFICATION_STATUSES; i++)
		if (statuses >> i & 1) wanted += counts[i];
	if (wanted == 0) return 0;
	if (wanted == notices_row_used(row)) return all;
	for (unsigned i = 0; i < notices_row_used(row); i++)
		mask |= (uint64_t)(statuses >> (status[i] & 7) & 1) << i;
	return mask;
}

static uint64_t mask_by_time(struct span row, const wall_us bounds[2], uint64_t all)
{
	int64_t  earliest = notices_row_earliest(row), latest = notices_row_latest(row);
	uint64_t mask = 0;
	if (earliest >= bounds[0].v && latest < bounds[1].v) return all;
	if (latest < bounds[0].v || earliest >= bounds[1].v) return 0;
	for (unsigned i = 0; i < notices_row_used(row); i++) {
		int64_t at = notices_row_state(row, i).scheduled.v;
		mask |= (uint64_t)(at >= bounds[0].v && at < bounds[1].v) << i;
	}
	return mask;
}

/* For all notifications, if the order needs them. */
struct times {
	int64_t *scheduled, *earliest, *latest; /* by number; of each row */
};

static void take_row(const struct notification_filter *filter, struct span row, uint32_t number,
                     struct selection *selection, const struct times *times)
{
	unsigned used = notices_row_used(row);
	uint64_t all = used == NOTICES ? UINT64_MAX : (UINT64_C(1) << used) - 1;
	uint64_t mask = filter->statuses ? mask_by_status(row, filter->statuses, all) : all;
	/* No time is after the greatest: that bound excludes nothing. */
	if (mask && (filter->scheduled[0].v != INT64_MIN || filter->scheduled[1].v != INT64_MAX))
		mask &= mask_by_time(row, filter->scheduled, all);
	selection->bits[number] = mask;
	selection->total += (unsigned)__builtin_popcountll(mask);
	if (!mask || !times->scheduled) return;
	notices_row_scheduled(row, times->scheduled + (size_t)number * NOTICES);
	times->earliest[number] = notices_row_earliest(row);
	times->latest[number] = notices_row_latest(row);
}

static enum err sweep(struct request *request, const struct notification_filter *filter,
                      struct selection *selection, const struct times *times)
{
	enum { ROWS = 32 };
	uint32_t        rows = (uint32_t)((selection->made + (uint64_t)NOTICES - 1) / NOTICES), at = 0;
	struct row_key  key = key_u32(request->account->id, 0);
	struct stream   stream = stream_from(request->view, TABLE_NOTIFICATION_HOT, &key);
	struct view_row found[ROWS];
	unsigned        count;
	while (at < rows) {
		enum err err = stream_next(&stream, found, ROWS, &count);
		if (err || count == 0) return err ? err : ERR_DAMAGED;
		for (unsigned i = 0; i < count && at < rows; i++, at++) {
			key = key_u32(request->account->id, at);
			if (!span_equal(found[i].key, key_span(&key)) ||
			    !notices_row_is_whole(found[i].value))
				return ERR_DAMAGED;
			take_row(filter, found[i].value, at, selection, times);
		}
	}
	return OK;
}

/* Texts -------------------------------------------------------------------------------------------------------- */

struct search {
	struct text_search texts;      /* first: callbacks of the text search get back to this */
	struct buffer      room, text; /* for one message: the view's arena would keep them all */
};

/* The folded text of a long message is not stored. */
static enum err message_holds(struct text_search *texts, uint32_t number, bool *found)
{
	struct search      *search = (struct search *)texts;
	struct row_key      key = key_u32(texts->request->account->id, number);
	struct view_row     row;
	struct notification notification;
	enum err            err = view_parted_from(texts->request->view, TABLE_NOTIFICATION, key_span(&key),
	                                           &search->room, &row);
	if (!err && !span_equal(row.key, key_span(&key))) err = ERR_DAMAGED;
	if (!err) err = notification_read(row.value, &notification);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	buffer_clear(&search->text);
	fold_text(notification.message, &search->text);
	*found = span_holds(buffer_span(&search->text), texts->q);
	return search->text.failed ? ERR_NO_MEMORY : OK;
}

static enum err search_messages(struct request *request, struct span q, struct selection *selection)
{
	struct search search = {.texts = {.request = request,
	                                  .table = TABLE_NOTIFICATION_TEXT,
	                                  .q = q,
	                                  .holds_elsewhere = message_holds}};
	enum err      err = text_search(&search.texts, NULL, selection);
	buffer_free(&search.room);
	buffer_free(&search.text);
	return err;
}

static enum err prepare(struct request *request, bool keep_scheduled, struct selection *selection,
                        struct times *times)
{
	struct arena *arena = view_arena(request->view);
	size_t        words = selection->made / NOTICES + 1;
	enum err      err = select_none(request, selection->made, selection);
	*times = (struct times){NULL, NULL, NULL};
	if (err || !keep_scheduled) return err;
	times->scheduled = arena_take(arena, words * NOTICES * sizeof *times->scheduled);
	times->earliest = arena_take(arena, words * sizeof *times->earliest);
	times->latest = arena_take(arena, words * sizeof *times->latest);
	selection->updated = times->scheduled;
	selection->oldest = times->earliest;
	selection->newest = times->latest;
	return times->scheduled && times->earliest && times->latest ? OK : ERR_NO_MEMORY;
}

static void select_all(struct selection *selection)
{
	uint32_t whole = selection->made / NOTICES;
	memset(selection->bits, 0xff, whole * sizeof *selection->bits);
	selection->bits[whole] = (UINT64_C(1) << selection->made % NOTICES) - 1;
	selection->total = selection->made;
}

/* How many are in one of these states, from the account's counts. */
static uint32_t count_of(const struct notification_tally *tally, unsigned statuses)
{
	uint32_t count = 0;
	for (unsigned i = 0; i < NOTIFICATION_STATUSES; i++)
		if (statuses >> i & 1) count += tally->counts[i];
	return count;
}

enum err select_notifications(struct request *request, struct notification_filter *filter,
                              struct selection *selection)
{
	struct notification_tally tally;
	enum err                  err = notification_tally_get(request->view, request->account->id, &tally);
	if (err) return err;
	if (!filter->statuses)
		filter->statuses = (1u << NOTIFICATION_STATUSES) - 1; /* cancelled ones have none */
	uint32_t in_state = count_of(&tally, filter->statuses);
	*selection = (struct selection){.made = tally.made};
	if (in_state == 0) return OK;
	if (in_state == tally.made) filter->statuses = 0;
	bool by_columns = filter->statuses || filter->keep_scheduled || filter->scheduled[0].v != INT64_MIN ||
	                  filter->scheduled[1].v != INT64_MAX;
	*selection = (struct selection){.all = true, .made = tally.made, .total = tally.made};
	if (!by_columns && !filter->q.size) return OK;
	struct times times;
	if ((err = prepare(request, filter->keep_scheduled, selection, &times))) return err;
	if (!by_columns)
		select_all(selection);
	else if ((err = sweep(request, filter, selection, &times)))
		return err;
	return filter->q.size ? search_messages(request, filter->q, selection) : OK;
}
