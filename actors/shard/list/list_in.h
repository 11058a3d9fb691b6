#pragma once
#include "actors/shard/command.h"

/* Parameters common to several lists. Each refusal names the parameter. Errors: ERR_INVALID_INPUT, and those named. Source:
 * document 4.6, and the decisions on `q`. */

/* `q`, folded, in the view's arena; of size 0: everything. Errors: ERR_NO_MEMORY. */
enum { Q_CODE_POINTS_MAX = 200 };
must_check enum err list_take_q(struct request *request, struct outcome *outcome, const msgpack_object *arg,
                                struct span *q);

/* Two dates, from inclusive, to exclusive; if omitted, the least and the greatest. `names`: theirs. */
must_check enum err list_take_range(struct outcome *outcome, const msgpack_object *from,
                                    const msgpack_object *to, const char *const names[2], wall_us bounds[2]);

/* Refuses an unknown word: parameter `name` must be one of the `count` texts of `text`. */
must_check enum err list_refuse_word(struct outcome *outcome, const char         *name,
                                     const char *(*text)(unsigned word), unsigned count);

/* `status`, repeatable: a bit for each of the `count` texts of `text`; 0 if omitted. */
must_check enum err list_take_statuses(struct outcome *outcome, const msgpack_object *arg,
                                       const char *(*text)(unsigned status), unsigned count,
                                       unsigned *statuses);

/* Is it the operator's list? Such a list has no pages, and may contain more than a client may see. */
bool list_is_operators(const struct request *request);

/* `limit`: how many items. If omitted: `standing` for a client, all for the operator. */
uint64_t list_take_limit(const struct request *request, const msgpack_object *arg, int64_t standing);

/* `sort_dir`: is it asc? If omitted: desc. */
must_check enum err list_take_dir(struct outcome *outcome, const msgpack_object *arg, bool *ascending);
