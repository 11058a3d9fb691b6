/* Selects scans. Numbers rise with created_at, so bounds on that are bounds on numbers. The rest is one sweep through the
 * columns, whose heads often decide for 64 scans at once. `q` is first resolved to passes and readers, and the sweep compares
 * their numbers. */
#include "actors/shard/pass/search.h"
#include "actors/shard/scan/scan.h"
#include "schemas/fold.h"
#include "schemas/search.h"
#include "store/keys.h"
#include "store/reader_row.h"
#include "store/stream.h"

_Static_assert(SCAN_ROW_SCANS == 64, "a row is a word of the selection");

struct sweep {
	unsigned         verdicts;
	uint32_t         from, to; /* numbers */
	uint32_t         stored;   /* rows of SCAN from this one on have recent scans, or are not there */
	bool             by_q;
	struct selection passes, readers; /* by_q: those that match `q`, by number */
};

/* Matches of q ------------------------------------------------------------------------------------------- */

static enum err find_passes(struct request *request, struct span q, struct selection *passes)
{
	struct tally tally;
	enum err     err = tally_get(request->view, request->account->id, &tally);
	if (err || (err = select_none(request, tally.made, passes))) return err;
	memset(passes->bits, 0xff, (tally.made + 63) / 64 * sizeof *passes->bits);
	return search_ids(request, q, passes);
}

static void mark_reader(const struct reader_row *row, struct span q, struct buffer *folded,
                        struct selection *readers)
{
	buffer_clear(folded);
	fold_text(row->name, folded);
	if (!span_holds(buffer_span(folded), q)) return;
	readers->bits[row->number / 64] |= UINT64_C(1) << row->number % 64;
	readers->total++;
}

static enum err find_readers(struct request *request, struct span q, const struct scan_tally *tally,
                             struct selection *readers)
{
	struct buffer     folded = {0};
	struct reader_row row = {.number = 0};
	enum err          err = select_none(request, tally->readers + 1, readers);
	if (err) return err;
	while (!(err = reader_name_next(request->view, request->account->id, &row))) {
		if (row.number > tally->readers) err = ERR_DAMAGED;
		if (err) break;
		mark_reader(&row, q, &folded, readers);
	}
	bool failed = folded.failed;
	buffer_free(&folded);
	if (err != ERR_NOT_FOUND) return err;
	return failed ? ERR_NO_MEMORY : OK;
}

/* The sweep ---------------------------------------------------------------------------------------------- */

static uint64_t meant(const struct sweep *sweep, struct span row, uint64_t mask)
{
	uint64_t left = mask;
	for (; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		if (!is_selected(&sweep->passes, scan_rows_pass(row, i)) &&
		    !is_selected(&sweep->readers, scan_rows_reader(row, i)))
			mask &= ~(UINT64_C(1) << i);
	}
	return mask;
}

static uint64_t in_range(const struct sweep *sweep, uint32_t first, uint64_t mask)
{
	if (first < sweep->from) mask &= UINT64_MAX << (sweep->from - first);
	if (sweep->to - first < SCAN_ROW_SCANS) mask &= (UINT64_C(1) << (sweep->to - first)) - 1;
	return mask;
}

static void take_row(const struct sweep *sweep, struct span row, struct selection *selection, uint32_t number)
{
	uint64_t mask = scan_rows_mask(row, sweep->verdicts);
	mask = in_range(sweep, number * SCAN_ROW_SCANS, mask);
	if (sweep->by_q) mask = meant(sweep, row, mask);
	selection->bits[number] = mask;
	selection->total += (unsigned)__builtin_popcountll(mask);
}

static enum err take_stored(struct request *request, const struct sweep *sweep, const struct view_row *row,
                            struct selection *selection, uint32_t number)
{
	struct row_key key = key_u32(request->account->id, number);
	if (!span_equal(row->key, key_span(&key)) || !scan_rows_are_whole(row->value)) return ERR_DAMAGED;
	take_row(sweep, row->value, selection, number);
	return OK;
}

static enum err take_recent(struct request *request, const struct sweep *sweep, struct selection *selection,
                            uint32_t number)
{
	struct span row;
	enum err    err = scan_rows_get(request->view, request->account->id, number, &row);
	if (!err) take_row(sweep, row, selection, number);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

static enum err sweep_rows(struct request *request, const struct sweep *sweep, struct selection *selection)
{
	enum { ROWS = 32 };
	struct view_row rows[ROWS];
	unsigned        count;
	enum err        err = OK;
	if (sweep->from >= sweep->to) return OK;
	uint32_t       at = sweep->from / SCAN_ROW_SCANS, last = (sweep->to - 1) / SCAN_ROW_SCANS;
	struct row_key key = key_u32(request->account->id, at);
	struct stream  stream = stream_from(request->view, TABLE_SCAN, &key);
	/* First, since its ledger rows may leave memory. */
	if (last >= sweep->stored) err = take_recent(request, sweep, selection, last);
	while (!err && at <= last && at < sweep->stored) {
		if ((err = stream_next(&stream, rows, ROWS, &count))) break;
		if (count == 0) return ERR_DAMAGED;
		for (unsigned i = 0; i < count && at <= last && at < sweep->stored && !err; i++)
			err = take_stored(request, sweep, &rows[i], selection, at++);
	}
	return err;
}

static enum err find_range(struct request *request, const struct scan_filter *filter, struct sweep *sweep)
{
	uint32_t made = sweep->to;
	enum err err = OK;
	if (filter->created[0].v != INT64_MIN)
		err = scan_row_first(request->view, request->account->id, made, filter->created[0],
		                     &sweep->from);
	if (!err && filter->created[1].v != INT64_MAX)
		err = scan_row_first(request->view, request->account->id, made, filter->created[1],
		                     &sweep->to);
	return err;
}

static enum err find_meant(struct request *request, const struct scan_filter *filter,
                           const struct scan_tally *tally, struct sweep *sweep)
{
	enum err err = find_passes(request, filter->q, &sweep->passes);
	sweep->by_q = true;
	if (err || (err = find_readers(request, filter->q, tally, &sweep->readers))) return err;
	if (sweep->passes.total + sweep->readers.total == 0) sweep->to = sweep->from; /* nothing matches */
	return OK;
}

enum err select_scans(struct request *request, const struct scan_filter *filter, struct selection *selection)
{
	const unsigned    all = (1u << SCAN_VERDICTS) - 1;
	struct scan_tally tally;
	enum err          err = scan_tally_whole(request->view, request->account->id, &tally);
	struct sweep      sweep = {.verdicts = filter->verdicts,
	                           .to = tally.made,
	                           .stored = tally.recent_from ? (tally.made - 1) / SCAN_ROW_SCANS : UINT32_MAX};
	if (err || (err = find_range(request, filter, &sweep))) return err;
	bool whole = sweep.from == 0 && sweep.to == tally.made && !tally.counts[SCAN_COUNT_DELETED];
	*selection = (struct selection){.all = true, .made = tally.made, .total = tally.made};
	if (whole && filter->verdicts == all && filter->q.size == 0) return OK;
	if ((err = select_none(request, tally.made, selection))) return err;
	if (filter->verdicts == 0 || sweep.from >= sweep.to) return OK;
	if (filter->q.size && (err = find_meant(request, filter, &tally, &sweep))) return err;
	return sweep_rows(request, &sweep, selection);
}
