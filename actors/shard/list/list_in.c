/* Parameters that several lists have. */
#include "actors/shard/list/list_in.h"

#include "schemas/fold.h"

#include <stdio.h>

enum err list_take_q(struct request *request, struct outcome *outcome, const msgpack_object *arg,
                     struct span *q)
{
	struct buffer folded = {0};
	struct span   text = arg_span(arg);
	*q = span_of(NULL, 0);
	if (text.size == 0) return OK;
	if (utf8_length(text) > Q_CODE_POINTS_MAX)
		return refuse(outcome,
		              REASON(TOO_LONG, "q", .most = Q_CODE_POINTS_MAX, .wanted = "characters"));
	fold_text(text, &folded);
	uint8_t *kept = folded.failed ? NULL : arena_take(view_arena(request->view), folded.size + 1);
	if (kept && folded.size) memcpy(kept, folded.at, folded.size);
	*q = span_of(kept, folded.size);
	buffer_free(&folded);
	return kept ? OK : ERR_NO_MEMORY;
}

enum err list_take_range(struct outcome *outcome, const msgpack_object *from, const msgpack_object *to,
                         const char *const names[2], wall_us bounds[2])
{
	bounds[0].v = arg_integer(from, INT64_MIN);
	bounds[1].v = arg_integer(to, INT64_MAX);
	if (bounds[0].v <= bounds[1].v) return OK;
	return refuse(outcome, REASON(TURNED_ROUND, names[0], .given = span_str(names[1])));
}

enum err list_refuse_word(struct outcome *outcome, const char *name, const char *(*text)(unsigned word),
                          unsigned count)
{
	char   wanted[HINT_TEXT] = "one of ";
	size_t size = strlen(wanted);
	for (unsigned i = 0; i < count; i++) {
		bool is_first = true; /* equal texts count as one word */
		for (unsigned before = 0; before < i; before++)
			is_first = is_first && strcmp(text(before), text(i)) != 0;
		if (!is_first) continue;
		int more = snprintf(wanted + size, sizeof wanted - size, "%s%s", i ? ", " : "", text(i));
		must(more > 0 && (size += (size_t)more) < sizeof wanted);
	}
	return refuse(outcome, REASON(WANTED, name, .wanted = wanted));
}

enum err list_take_statuses(struct outcome *outcome, const msgpack_object *arg,
                            const char *(*text)(unsigned status), unsigned count, unsigned *statuses)
{
	*statuses = 0;
	for (uint32_t i = 0; arg_present(arg) && i < arg->via.array.size; i++) {
		struct span word = arg_span(&arg->via.array.ptr[i]);
		unsigned    status = 0;
		while (status < count && !span_is(word, text(status)))
			status++;
		if (status == count) return list_refuse_word(outcome, "status", text, count);
		*statuses |= 1u << status;
	}
	return OK;
}

enum err list_take_dir(struct outcome *outcome, const msgpack_object *arg, bool *ascending)
{
	*ascending = arg_present(arg) && span_is(arg_span(arg), "asc");
	if (!arg_present(arg) || *ascending || span_is(arg_span(arg), "desc")) return OK;
	return refuse(outcome, REASON(WANTED, "sort_dir", .wanted = "asc or desc"));
}

bool list_is_operators(const struct request *request)
{
	return !request->call->has_key_hash; /* a client has shown its key, or was refused earlier */
}

uint64_t list_take_limit(const struct request *request, const msgpack_object *arg, int64_t standing)
{
	return (uint64_t)arg_integer(arg, list_is_operators(request) ? INT64_MAX : standing);
}
