/* Verifies a journal: its segments' heads, and the chain of its records. */
#include "store/verify_inside.h"

#include <inttypes.h>
#include <unistd.h>

void verify_part(struct verifying *v, const char *name, uint64_t number)
{
	int size = snprintf(v->part, sizeof v->part, "%s", name);
	if (number) snprintf(v->part + size, sizeof v->part - (size_t)size, " %" PRIu64, number);
}

/* Segments ------------------------------------------------------------------------------------------------ */

enum err verify_segments(struct verifying *v)
{
	uint64_t count;
	enum err err = segment_bounds(&v->dir, &v->first, &v->last, &count);
	if (!err && count && v->last - v->first + 1 != count)
		fault(v->faults, "journal: %" PRIu64 " segments are missing between %" PRIu64 " and %" PRIu64,
		      v->last - v->first + 1 - count, v->first, v->last);
	v->report->segments = count;
	return err;
}

/* Every segment's head, also of empty segments. */
static enum err check_heads(struct verifying *v)
{
	for (uint64_t number = v->first; number && number <= v->last; number++) {
		int      fd = -1;
		uint64_t bytes;
		char     why[VERSION_TEXT];
		verify_part(v, "journal segment", number);
		enum err err = segment_judge_version(&v->dir, number, why);
		if (err) fault(v->faults, "%s", why);
		if (err) return err;
		err = segment_open(&v->dir, number, &fd, &bytes);
		if (err == ERR_DAMAGED)
			fault(v->faults, "journal segment %" PRIu64 ": its head or size is damaged", number);
		else if (err == ERR_NOT_MINE)
			fault(v->faults, "journal segment %" PRIu64 ": of another shard or data directory",
			      number);
		else if (err && err != ERR_NOT_FOUND)
			return err;
		if (fd >= 0) close(fd);
	}
	return OK;
}

/* The start of the chain: before the first record of the first segment, whatever its number. */
static enum err find_begin(struct verifying *v)
{
	enum err err = scan_first(&v->scan, v->first, &v->begin);
	v->begun = !err;
	return err == ERR_IO || err == ERR_NO_MEMORY ? err : OK; /* check_heads() has reported others */
}

/* Records ------------------------------------------------------------------------------------------------- */

static enum err check_operations(struct verifying *v, const struct record *record)
{
	struct span  left = record->writes;
	struct write write;
	uint32_t     count = 0;
	enum err     err;
	while (!(err = record_next(&left, &v->arena, &write)))
		count++;
	arena_reset(&v->arena);
	if (err == ERR_NO_MEMORY) return err;
	if (err != ERR_NOT_FOUND || count != record->operations)
		fault(v->faults,
		      "journal segment %" PRIu64 ": record %" PRIu64 " holds operations of a wrong form",
		      record->segment, record->seq);
	return OK;
}

static void check_padding(struct verifying *v, const struct record *record, uint64_t offset)
{
	const struct scanned *here = v->scan.here;
	if (!record_padding_holds(span_of(here->bytes + offset, (size_t)(here->size - offset)), record))
		fault(v->faults,
		      "journal segment %" PRIu64 ": the bytes behind record %" PRIu64 " are not zeros",
		      record->segment, record->seq);
}

static bool is_far_enough(const struct verifying *v, const struct position *at)
{
	return v->order->served && at->seq >= v->order->durable_seq;
}

/* The chain has ended: is that far enough? */
static enum err judge_end(struct verifying *v, const struct position *at)
{
	bool     blank;
	enum err err = OK;
	if (is_far_enough(v, at)) return OK;
	if (!v->order->served) err = scan_tail(&v->scan, at, &blank);
	if (!v->order->served && err != ERR_DAMAGED) return err;
	fault(v->faults,
	      "journal segment %" PRIu64 ": record %" PRIu64
	      " is damaged or missing, at or after byte %" PRIu64,
	      at->segment ? at->segment : v->first, at->seq + 1,
	      at->segment ? at->offset : (uint64_t)RECORD_ALIGN);
	return OK;
}

static enum err walk_records(struct verifying *v)
{
	struct position at = v->begin;
	struct record   record;
	char            why[VERSION_TEXT];
	enum err        err = OK;
	while (!is_far_enough(v, &at) && !(err = scan_next(&v->scan, &at, &record))) {
		v->report->records++;
		check_padding(v, &record, at.record_offset);
		if ((err = check_operations(v, &record))) return err;
		if (!progress_step(v->order->progress, record_room(record.writes.size))) return ERR_STOPPED;
	}
	v->report->seq = at.seq;
	if (err == ERR_UNSUPPORTED) {
		scan_refusal(&v->scan, why);
		fault(v->faults, "%s", why);
		return OK;
	}
	if (err == ERR_DAMAGED) {
		fault(v->faults, "journal segment %" PRIu64 ": cannot be read on behind record %" PRIu64,
		      at.segment, at.seq);
		return OK;
	}
	return err && err != ERR_NOT_FOUND ? err : judge_end(v, &at);
}

enum err verify_journal(struct verifying *v)
{
	enum err err;
	if (!v->last) return OK;
	if ((err = check_heads(v))) return err;
	verify_part(v, "journal", 0);
	scan_begin(&v->scan, &v->dir, v->last);
	if ((err = find_begin(v))) return err;
	if (!v->begun && v->first > 1) {
		fault(v->faults, "journal segment %" PRIu64 ": its first record is damaged", v->first);
		return OK;
	}
	return walk_records(v);
}

enum err verify_joined(struct verifying *v, const struct applied *at, const char *what)
{
	struct position position = {
	    .segment = at->segment, .record_offset = at->record_offset, .seq = at->seq, .chain = at->chain};
	bool joined;
	if (at->seq == 0) return OK;
	if (at->segment == 0) { /* restored: the journal begins behind it, or does not exist yet */
		joined = !v->last ||
		         (v->first == 1 &&
		          (!v->begun || (v->begin.seq == at->seq && v->begin.chain == at->chain)));
	} else {
		enum err err = v->last && at->segment >= v->first && at->segment <= v->last
		                   ? scan_check(&v->scan, &position)
		                   : ERR_DAMAGED;
		if (err && err != ERR_DAMAGED && err != ERR_UNSUPPORTED) return err;
		joined = !err;
	}
	if (!joined)
		fault(v->faults,
		      "%s: stands at record %" PRIu64 ", which the journal does not hold (segment %" PRIu64
		      ", byte %" PRIu64 ")",
		      what, at->seq, at->segment, at->record_offset);
	return OK;
}
