#pragma once
#include "actors/shard/command.h"

/* What lists are asked for alike. Each names the parameter that is to blame. Errors: ERR_INVALID_INPUT, and those named.
 * Source: document 4.6, and the decisions on `q`. */

/* `q`, folded, in the view's arena; of size 0: everything. Errors: ERR_NO_MEMORY. */
enum { Q_CODE_POINTS_MAX = 200 };
must_check enum err list_take_q(struct request *request, struct outcome *outcome, const msgpack_object *arg,
                                struct span *q);

/* Two dates, from inclusive, to exclusive; the least and the greatest where they are left out. `names`: theirs. */
must_check enum err list_take_range(struct outcome *outcome, const msgpack_object *from,
                                    const msgpack_object *to, const char *const names[2], wall_us bounds[2]);

/* Refuses a word that is none of the `count` whose texts `text` knows: parameter `name` must be one of them. */
must_check enum err list_refuse_word(struct outcome *outcome, const char         *name,
                                     const char *(*text)(unsigned word), unsigned count);

/* `status`, repeatable: a bit each of `count` of them, whose words are `text`; 0 where it is left out. */
must_check enum err list_take_statuses(struct outcome *outcome, const msgpack_object *arg,
                                       const char *(*text)(unsigned status), unsigned count,
                                       unsigned *statuses);

/* Is it the operator's list? Such a list has no pages, and may say more than a client is to know. */
bool list_is_operators(const struct request *request);

/* `limit`: how many items; left out it is `standing` for a client, and all for the operator. */
uint64_t list_take_limit(const struct request *request, const msgpack_object *arg, int64_t standing);

/* `sort_dir`: is it asc? Left out it is desc. */
must_check enum err list_take_dir(struct outcome *outcome, const msgpack_object *arg, bool *ascending);
