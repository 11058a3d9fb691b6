/* Calls that carry reports to a shard. */
#include "actors/timer/reports.h"

#include "schemas/limits.h"

#include <stddef.h>
#include <stdlib.h>

/* Records being sent: those of the first stream, then those of the next. */
struct sent_records {
	LIST_ENTRY(sent_records) link;
	struct asked    asked;
	struct reports *owner;
	size_t          sizes[REPORT_STREAMS_MAX]; /* bytes */
	uint8_t         bytes[];
};

static bool has_any(const struct reports *reports)
{
	return reports->of[0].size || reports->of[1].size || reports->of[2].size;
}

static bool append(struct reports *reports, unsigned stream, const void *bytes, size_t size)
{
	struct buffer *to = &reports->of[stream];
	if (to->capacity - to->size < size) return false;
	if (!has_any(reports)) reports->gathered_by = mono_after(reports->now, reports->kind->gather);
	buffer_append(to, bytes, size);
	return true;
}

void reports_add(struct reports *reports, unsigned stream, const void *record, bool in_front)
{
	struct buffer *to = &reports->of[stream];
	size_t         size = reports->kind->of[stream].bytes;
	if (!append(reports, stream, record, size) || !in_front) return;
	memmove(to->at + size, to->at, to->size - size);
	memcpy(to->at, record, size);
}

static uint32_t count_of(const struct reports *reports, size_t bytes)
{
	return (uint32_t)(bytes / reports->kind->of[0].bytes);
}

uint32_t reports_waiting(const struct reports *reports)
{
	return count_of(reports, reports->of[0].size);
}

static void forget(struct sent_records *sent)
{
	LIST_REMOVE(sent, link);
	free(sent);
}

static void on_reported(struct asked *asked, const struct reply *reply)
{
	struct sent_records *sent = (struct sent_records *)((char *)asked -
	                                                    offsetof(struct sent_records, asked));
	struct reports      *reports = sent->owner;
	const uint8_t       *at = sent->bytes;
	uint32_t             count = count_of(reports, sent->sizes[0]);
	reports->calling--;
	reports->unconfirmed -= count;
	if (reply->err && reply->err != ERR_MALFORMED) {
		for (unsigned i = 0; i < reports->kind->streams; at += sent->sizes[i++])
			(void)append(reports, i, at, sent->sizes[i]);
		reports->again_at = mono_after(reports->now, reports->kind->again);
	} else {
		reports->in_hand -= count;
	}
	forget(sent);
}

/* The first records of each stream. NULL: no memory. */
static struct sent_records *copy_first(const struct reports *reports)
{
	size_t sizes[REPORT_STREAMS_MAX] = {0}, sum = 0;
	for (unsigned i = 0; i < reports->kind->streams; i++) {
		size_t most = reports->kind->of[i].a_call * reports->kind->of[i].bytes;
		sizes[i] = reports->of[i].size < most ? reports->of[i].size : most;
		sum += sizes[i];
	}
	struct sent_records *sent = calloc(1, sizeof *sent + sum);
	if (!sent) return NULL;
	memcpy(sent->sizes, sizes, sizeof sizes);
	for (unsigned i = 0, at = 0; i < reports->kind->streams; at += (unsigned)sizes[i++])
		if (sizes[i]) memcpy(sent->bytes + at, reports->of[i].at, sizes[i]);
	return sent;
}

static void cut(struct buffer *buffer, size_t size)
{
	if (size) memmove(buffer->at, buffer->at + size, buffer->size - size);
	buffer->size -= size;
}

static bool send_some(struct reports *reports)
{
	msgpack_packer       packer;
	struct sent_records *sent = copy_first(reports);
	if (!sent) return false;
	struct call call = {.message = reports->kind->message,
	                    .deadline = mono_after(reports->now, (dur_us){CALL_DEADLINE_MS * US_PER_MS})};
	sent->asked.on_reply = on_reported;
	sent->owner = reports;
	if (rpc_begin(reports->rpc, &call, &sent->asked, &packer)) {
		free(sent);
		return false;
	}
	const uint8_t *at = sent->bytes;
	msgpack_pack_array(&packer, reports->kind->streams);
	for (unsigned i = 0; i < reports->kind->streams; at += sent->sizes[i++]) {
		pack_bin(&packer, span_of(at, sent->sizes[i]));
		cut(&reports->of[i], sent->sizes[i]);
	}
	rpc_commit(reports->rpc);
	LIST_INSERT_HEAD(&reports->sent, sent, link);
	reports->calling++;
	reports->unconfirmed += count_of(reports, sent->sizes[0]);
	return true;
}

dur_us reports_send(struct reports *reports, mono_us now, bool at_once)
{
	reports->now = now;
	bool is_time = at_once || now.v >= reports->gathered_by.v ||
	               reports_waiting(reports) >= reports->kind->gathered_max;
	while (is_time && now.v >= reports->again_at.v && has_any(reports) &&
	       reports->calling < reports->kind->calls_max && send_some(reports))
		;
	int64_t next = reports->gathered_by.v > reports->again_at.v ? reports->gathered_by.v
	                                                            : reports->again_at.v;
	return (dur_us){has_any(reports) && now.v < next ? next - now.v : INT64_MAX};
}

enum err reports_open(struct reports *reports, const struct report_kind *kind, struct rpc *rpc,
                      const uint32_t rooms[])
{
	*reports = (struct reports){.kind = kind, .rpc = rpc};
	LIST_INIT(&reports->sent);
	for (unsigned i = 0; i < kind->streams; i++)
		if (!buffer_reserve(&reports->of[i], rooms[i] * kind->of[i].bytes)) return ERR_NO_MEMORY;
	return OK;
}

void reports_close(struct reports *reports)
{
	while (!LIST_EMPTY(&reports->sent))
		forget(LIST_FIRST(&reports->sent));
	for (unsigned i = 0; i < REPORT_STREAMS_MAX; i++)
		buffer_free(&reports->of[i]);
}
