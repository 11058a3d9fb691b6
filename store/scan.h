#pragma once
#include "store/record.h"
#include "store/segment.h"

/* Reads the journal after a stop. The current segment and the one before it are kept in memory, since a start reads
 * the last record's segment and the next one four times. Errors as in segment.h, and ERR_NO_MEMORY. */
struct scan {
	const struct journal_dir *dir;
	struct scanned {
		uint64_t segment; /* 0: none */
		uint8_t *bytes;
		uint64_t size;
	} kept[2], *here;      /* the current one; NULL: none yet */
	uint64_t last_segment; /* the highest existing one */
	uint64_t refused;      /* one that could not be opened, or has a record of an unknown version */
	uint32_t version;      /* of that record; 0: the segment's own */
	bool     foreign;      /* since its shard, lineage or number differs */
};

/* A position in the chain of records: after the record with `seq`. All zero: before the first one. */
struct position {
	uint64_t segment, offset; /* of the next record, if it is in the same segment */
	uint64_t record_offset;   /* of the record with `seq`, in this segment */
	uint64_t seq, epoch;
	uint32_t chain;
};

/* The sentence about what was refused with ERR_UNSUPPORTED. */
void scan_refusal(const struct scan *scan, char why[VERSION_TEXT]);

void scan_begin(struct scan *scan, const struct journal_dir *dir, uint64_t last_segment);
void scan_end(struct scan *scan);

/* The position before the first record of a segment, as that record states it. Errors: ERR_NOT_FOUND: it has none. */
must_check enum err scan_first(struct scan *scan, uint64_t segment, struct position *at);

/* Is the record before `at` there, with its seq and chain? Errors: ERR_DAMAGED: it is not. */
must_check enum err scan_check(struct scan *scan, const struct position *at);

/* The record that follows `at`, in its segment or at the beginning of the next one; moves `at` behind it.
 * record->writes is borrowed until the next call. Errors: ERR_NOT_FOUND: there is no further valid record. */
must_check enum err scan_next(struct scan *scan, struct position *at, struct record *record);

/* Checks the bytes behind the last valid record. A record there with durable_seq >= at->seq + 1 was written after the
 * missing one was acknowledged, so acknowledged data is damaged. Otherwise `*blank` says whether nothing was written
 * there.
 * Errors: ERR_DAMAGED: record at->seq + 1 is missing, after at->offset of at->segment. */
must_check enum err scan_tail(struct scan *scan, const struct position *at, bool *blank);

/* Removes an unfinished tail: blanks the bytes behind `at`, deletes later segments that were written to. Only after
 * scan_tail(). Errors: ERR_IO. */
must_check enum err scan_cut(struct scan *scan, const struct position *at);
