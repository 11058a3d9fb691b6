/* Reads the journal at start. The chain (sequence, chained checksum, place, epoch) determines the next record. The
 * first mismatch ends the walk; the rest is then searched for proof that a record is missing rather than unfinished. */
#include "store/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE_PAGE = 2 << 20 };

void scan_begin(struct scan *scan, const struct journal_dir *dir, uint64_t last_segment)
{
	*scan = (struct scan){.dir = dir, .last_segment = last_segment};
}

void scan_end(struct scan *scan)
{
	for (unsigned i = 0; i < 2; i++)
		free(scan->kept[i].bytes);
	*scan = (struct scan){.dir = scan->dir};
}

void scan_refusal(const struct scan *scan, char why[VERSION_TEXT])
{
	char name[SEGMENT_NAME], what[SEGMENT_NAME + 20];
	if (segment_judge_version(scan->dir, scan->refused, why)) return;
	segment_name(scan->refused, name);
	snprintf(what, sizeof what, "a record in journal/%s", name);
	if (scan->version != RECORD_VERSION)
		version_refusal(VERSION_OF_DATA, what, scan->version, RECORD_VERSION, why);
	else
		snprintf(why, VERSION_TEXT,
		         "%s is of a kind that this program does not know: use the program that wrote it",
		         what);
}

static struct scanned *find(struct scan *scan, uint64_t number)
{
	for (unsigned i = 0; i < 2; i++)
		if (scan->kept[i].segment == number) return &scan->kept[i];
	return NULL;
}

/* Huge pages where available: page faults on 4096 small ones cost more than the read. */
static uint8_t *new_pages(uint64_t bytes)
{
	if (bytes < LARGE_PAGE) return malloc((size_t)bytes);
	uint8_t *pages = aligned_alloc(LARGE_PAGE,
	                               (size_t)(bytes + LARGE_PAGE - 1) & ~(size_t)(LARGE_PAGE - 1));
	if (pages) (void)!madvise(pages, (size_t)bytes, MADV_HUGEPAGE);
	return pages;
}

/* Memory for a segment, in place of the one that is not current. */
static enum err make_room(struct scan *scan, uint64_t bytes, struct scanned **room)
{
	struct scanned *one = &scan->kept[scan->here == &scan->kept[0]];
	one->segment = 0;
	if (!one->bytes || one->size != bytes) {
		free(one->bytes);
		*one = (struct scanned){.bytes = new_pages(bytes), .size = bytes};
	}
	*room = one;
	return one->bytes ? OK : ERR_NO_MEMORY;
}

static enum err load(struct scan *scan, uint64_t number)
{
	struct scanned *into = find(scan, number);
	int             fd = -1;
	uint64_t        bytes, have = 0;
	if (into) {
		scan->here = into;
		return OK;
	}
	enum err err = segment_open(scan->dir, number, &fd, &bytes);
	if (err) scan->refused = number;
	if (err == ERR_NOT_MINE) scan->foreign = true;
	if (err) return err == ERR_NOT_MINE ? ERR_DAMAGED : err;
	err = make_room(scan, bytes, &into);
	while (!err && have < bytes) {
		ssize_t n = pread(fd, into->bytes + have, (size_t)(bytes - have), (off_t)have);
		if (n <= 0)
			err = ERR_IO;
		else
			have += (uint64_t)n;
	}
	close(fd);
	if (err) return err;
	into->segment = number;
	scan->here = into;
	return OK;
}

/* The record at an offset of the current segment, if it belongs to this shard, lineage and place. */
static enum err at_place(struct scan *scan, uint64_t offset, struct record *record)
{
	const struct scanned *here = scan->here;
	if (offset >= here->size) return ERR_NOT_FOUND;
	struct span bytes = span_of(here->bytes + offset, (size_t)(here->size - offset));
	enum err    err = record_open(bytes, record);
	if (err == ERR_UNSUPPORTED) {
		scan->refused = here->segment;
		scan->version = record_version(bytes);
	}
	if (err) return err;
	bool ours = record->shard == scan->dir->shard && !memcmp(record->lineage, scan->dir->lineage, 16) &&
	            record->segment == here->segment && record->offset == offset;
	return ours ? OK : ERR_NOT_FOUND;
}

static bool follows(const struct record *record, const struct position *at)
{
	return record->seq == at->seq + 1 && record->chain_before == at->chain && record->epoch >= at->epoch;
}

enum err scan_first(struct scan *scan, uint64_t segment, struct position *at)
{
	struct record record;
	enum err      err = load(scan, segment);
	if (err || (err = at_place(scan, RECORD_ALIGN, &record))) return err;
	*at = (struct position){.segment = segment,
	                        .offset = RECORD_ALIGN,
	                        .seq = record.seq - 1,
	                        .epoch = record.epoch,
	                        .chain = record.chain_before};
	return OK;
}

enum err scan_check(struct scan *scan, const struct position *at)
{
	struct record record;
	if (at->segment == 0) return OK; /* before the first record of this journal */
	enum err err = load(scan, at->segment);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if ((err = at_place(scan, at->record_offset, &record)))
		return err == ERR_UNSUPPORTED ? err : ERR_DAMAGED;
	return record.seq == at->seq && record.chain == at->chain ? OK : ERR_DAMAGED;
}

enum err scan_next(struct scan *scan, struct position *at, struct record *record)
{
	uint64_t places[2][2] = {{at->segment, at->offset}, {at->segment + 1, RECORD_ALIGN}};
	for (unsigned i = 0; i < 2; i++) {
		uint64_t segment = places[i][0], offset = places[i][1];
		if (segment == 0 || segment > scan->last_segment) continue;
		enum err err = load(scan, segment);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		err = at_place(scan, offset, record);
		if (err == ERR_UNSUPPORTED) return err;
		if (err || !follows(record, at)) continue;
		at->segment = segment;
		at->record_offset = offset;
		at->offset = offset + record_room(record->writes.size);
		at->seq = record->seq;
		at->epoch = record->epoch;
		at->chain = record->chain;
		return OK;
	}
	return ERR_NOT_FOUND;
}

static bool is_blank(const struct scanned *segment, uint64_t offset)
{
	static const uint8_t zeros[RECORD_ALIGN];
	for (; offset < segment->size; offset += RECORD_ALIGN)
		if (memcmp(segment->bytes + offset, zeros, RECORD_ALIGN)) return false;
	return true;
}

enum err scan_tail(struct scan *scan, const struct position *at, bool *blank)
{
	uint64_t      begin = at->segment ? at->segment : 1, offset = at->segment ? at->offset : RECORD_ALIGN;
	struct record record;
	*blank = true;
	for (uint64_t segment = begin; segment <= scan->last_segment; segment++, offset = RECORD_ALIGN) {
		enum err err = load(scan, segment);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (is_blank(scan->here, offset)) continue;
		*blank = false;
		for (; offset < scan->here->size; offset += RECORD_ALIGN)
			if (!at_place(scan, offset, &record) && record.durable_seq > at->seq)
				return ERR_DAMAGED;
	}
	return OK;
}

static enum err blank_place(const struct journal_dir *dir, const struct position *at)
{
	static const uint8_t zeros[RECORD_ALIGN];
	int                  fd;
	uint64_t             bytes;
	enum err             err = segment_open(dir, at->segment, &fd, &bytes);
	if (err) return err;
	if (at->offset < bytes && pwrite(fd, zeros, sizeof zeros, (off_t)at->offset) != (ssize_t)sizeof zeros)
		err = ERR_IO;
#ifndef FAULT_CUT_UNSYNCED /* the fault: the blank is not synced */
	if (!err && fdatasync(fd)) err = ERR_IO;
#endif
	close(fd);
	return err;
}

enum err scan_cut(struct scan *scan, const struct position *at)
{
#ifdef FAULT_NO_CUT
	return OK; /* the fault: an unfinished record is left in place */
#endif
	enum err err = at->segment ? blank_place(scan->dir, at) : OK;
	for (; !err && scan->last_segment > at->segment; scan->last_segment--)
		err = segment_delete(scan->dir, scan->last_segment);
	scan->kept[0].segment = scan->kept[1].segment = 0; /* their bytes may be stale */
	return err;
}
