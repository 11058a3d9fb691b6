/* The tree of records that a trace has written, and which of them may be lost. */
#include "tests/crash/history.h"

#include "store/record.h"

#include <stdio.h>
#include <stdlib.h>

struct history *history_new(void)
{
	struct history *history = calloc(1, sizeof *history);
	must(history);
	history->contents = contents_new();
	history->count = 1;
	return history;
}

/* The contents are not copied: they are computed again when needed. */
void history_copy(struct history *to, const struct history *from)
{
	memcpy(to->records, from->records, from->count * sizeof *from->records);
	memcpy(to->promises, from->promises, from->promise_count * sizeof *from->promises);
	to->count = from->count;
	to->promise_count = from->promise_count;
	to->told = from->told;
	to->opened = from->opened;
	to->restored = from->restored;
	to->broken = from->broken;
	to->seen = from->seen;
	to->shard = from->shard;
	memcpy(to->lineage, from->lineage, sizeof to->lineage);
	contents_clear(to->contents);
	to->current = 0;
}

void history_free(struct history **history)
{
	if (*history) contents_free(&(*history)->contents);
	free(*history);
	*history = NULL;
}

/* Sets the contents to those at a record: continued from its predecessor if they are there, else from the
 * beginning. */
static void move_to(struct history *history, unsigned target)
{
	static unsigned way[RECORDS_MAX];
	unsigned        count = 0, at = target;
	if (at == history->current) return;
	for (; at && at != history->current; at = history->records[at].before)
		way[count++] = at;
	if (at != history->current) contents_clear(history->contents);
	while (count) {
		const struct history_record *record = &history->records[way[--count]];
		contents_apply(history->contents, record->operations);
	}
	history->current = target;
}

static unsigned find_chained(const struct history *history, uint64_t seq, uint32_t chain)
{
	for (unsigned i = history->count; i-- > 0;)
		if (history->records[i].seq == seq && history->records[i].chain == chain) return i;
	return RECORDS_MAX;
}

static unsigned add(struct history *history, struct history_record record)
{
	unsigned added = history->count++;
	must(added < RECORDS_MAX && record.before < added);
	history->records[added] = record;
	move_to(history, added);
	history->records[added].digest = contents_digest(history->contents);
	return added;
}

static void see_write(struct history *history, struct span bytes)
{
	struct record record;
	if (record_open(bytes, &record)) return;
	unsigned known = find_chained(history, record.seq, record.chain);
	if (known == RECORDS_MAX)
		known = add(history, (struct history_record){
		                         .seq = record.seq,
		                         .chain = record.chain,
		                         .before = find_chained(history, record.seq - 1, record.chain_before),
		                         .operations = record.writes});
	history->records[known].seen = ++history->seen;
	history->shard = record.shard;
	memcpy(history->lineage, record.lineage, sizeof record.lineage);
}

/* A reported number always means the record of that number that was written last. */
static void tell(struct history *history, uint64_t seq)
{
	unsigned best = RECORDS_MAX;
	for (unsigned i = 0; i < history->count; i++)
		if (history->records[i].seq == seq &&
		    (best == RECORDS_MAX || history->records[i].seen > history->records[best].seen))
			best = i;
	if (best == RECORDS_MAX || seq < history->records[history->told].seq)
		history->broken = true;
	else
		history->told = best;
}

static void promise(struct history *history, const struct trace_entry *entry)
{
	must(history->promise_count < PROMISES_MAX && entry->bytes.size <= PROMISE_BYTES);
	struct promise *promise = &history->promises[history->promise_count++];
	promise->balance = (int64_t)entry->head.length;
	promise->size = entry->bytes.size;
	memcpy(promise->whose, entry->bytes.at, entry->bytes.size);
}

static void see_mark(struct history *history, const struct trace_entry *entry)
{
	const struct trace_head *head = &entry->head;
	switch ((enum trace_mark)head->at) {
	case MARK_OPENED:
		history->opened = true;
		tell(history, head->length);
		return;
	case MARK_SEQ: tell(history, head->length); return;
	case MARK_DIGEST:
		tell(history, head->length);
		if (history->records[history->told].digest != head->other) history->broken = true;
		return;
	case MARK_RESTORED:
		history->restored = true;
		history->told = add(history, (struct history_record){.seq = head->length,
		                                                     .chain = (uint32_t)head->other,
		                                                     .operations = entry->bytes});
		return;
	case MARK_BALANCE: promise(history, entry); return;
	}
}

void history_see(struct history *history, const struct trace_entry *entry)
{
	if (entry->head.op == TRACE_WRITE) see_write(history, entry->bytes);
	if (entry->head.op == TRACE_MARK) see_mark(history, entry);
}

static bool stands_on(const struct history *history, unsigned record, unsigned base)
{
	while (record && record != base)
		record = history->records[record].before;
	return record == base;
}

bool history_allows(const struct history *history, uint64_t seq, uint64_t digest, char what[200])
{
	const struct history_record *told = &history->records[history->told];
	bool                         right_seq = false, right_rows = false;
	for (unsigned i = 0; i < history->count; i++) {
		const struct history_record *record = &history->records[i];
		if (record->seq != seq) continue;
		right_seq = true;
		if (record->digest != digest) continue;
		right_rows = true;
		if (stands_on(history, i, history->told)) return true;
	}
	snprintf(what, 200, "seq %llu, told %llu: %s", (unsigned long long)seq, (unsigned long long)told->seq,
	         !right_seq    ? "no record of that number was ever written"
	         : !right_rows ? "the rows are not those of any record of that number"
	                       : "the record told is not beneath it");
	return false;
}
