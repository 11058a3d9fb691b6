/* Lines of phones, in a ring for each account. */
#include "actors/shard/wallet/phone_log.h"

#include "actors/shard/list/list_out.h"
#include "schemas/api/phone.h"
#include "schemas/date.h"

#include <stdlib.h>

struct phone_line {
	wall_us at;
	uint8_t size;
	char    text[PHONE_LOG_BYTES];
};
_Static_assert(PHONE_LOG_BYTES < 256, "a size is a byte");

struct phone_log {
	struct account_id account;
	uint64_t          count; /* lines ever; 0: not in use */
	uint64_t          used;  /* order of last lines */
	struct phone_line lines[PHONE_LOG_LINES];
};

struct phone_logs {
	uint64_t         uses;
	struct phone_log of[PHONE_LOG_ACCOUNTS];
};

void phone_logs_free(struct phone_logs **logs)
{
	free(*logs);
	*logs = NULL;
}

static struct phone_log *find(struct phone_logs *logs, struct account_id account)
{
	for (unsigned i = 0; logs && i < PHONE_LOG_ACCOUNTS; i++)
		if (logs->of[i].count && account_same(logs->of[i].account, account)) return &logs->of[i];
	return NULL;
}

/* The place of an account, which may be another's so far. */
static struct phone_log *take(struct phone_logs *logs, struct account_id account)
{
	struct phone_log *log = find(logs, account), *oldest = &logs->of[0];
	if (log) return log;
	for (unsigned i = 1; i < PHONE_LOG_ACCOUNTS; i++)
		if (logs->of[i].used < oldest->used) oldest = &logs->of[i];
	oldest->count = 0;
	oldest->account = account;
	return oldest;
}

static void add(struct phone_log *log, wall_us at, struct span text)
{
	struct phone_line *line = &log->lines[log->count++ % PHONE_LOG_LINES];
	text = utf8_cut(text, PHONE_LOG_BYTES);
	line->at = at;
	line->size = (uint8_t)text.size;
	if (text.size) memcpy(line->text, text.at, text.size);
}

enum err on_WALLET_PHONE_LOG(struct request *request, struct outcome *outcome)
{
	const msgpack_object *lines = &request->args[ARG_WALLET_PHONE_LOG_lines];
	(void)outcome;
	atomic_fetch_add_explicit(&request->pushes->lines, lines->via.array.size, memory_order_relaxed);
	if (!*request->phone_logs && !(*request->phone_logs = calloc(1, sizeof **request->phone_logs)))
		return OK; /* it is no loss */
	if (!lines->via.array.size) return OK;
	struct phone_log *log = take(*request->phone_logs, request->account->id);
	log->used = ++(*request->phone_logs)->uses;
	for (uint32_t i = 0; i < lines->via.array.size; i++) {
		struct span text = arg_span(&lines->via.array.ptr[i]);
		if (text.size) add(log, request->now, text);
	}
	return OK;
}

/* wallet log: the oldest first. */
enum err on_WALLET_LOG(struct request *request, struct outcome *outcome)
{
	const struct phone_log *log = find(*request->phone_logs, request->account->id);
	struct list_out         list;
	uint64_t end = log ? log->count : 0, at = end < PHONE_LOG_LINES ? 0 : end - PHONE_LOG_LINES;
	list_begin(&list, outcome);
	for (; at < end && !list.err; at++) {
		const struct phone_line *line = &log->lines[at % PHONE_LOG_LINES];
		msgpack_packer           pk = buffer_packer(list_item(&list));
		char                     time[RFC3339_TEXT];
		rfc3339_text(line->at, time);
		msgpack_pack_map(&pk, 2);
		pack_text(&pk, "at");
		pack_text(&pk, time);
		pack_text(&pk, "line");
		pack_str(&pk, span_of(line->text, line->size));
	}
	enum err err = list_end(&list, end, false);
	list_drop(&list);
	return err;
}
