#pragma once
#include "actors/shard/list/cache.h"
#include "actors/shard/pass/pass.h"
#include "store/tally.h"

/* Selects an account's passes for a list: a bit a pass, by number, and their count. A pass must have one of the statuses, then
 * a time of update in the range, then `q` in its counter or folded text. */
struct pass_filter {
	unsigned    statuses; /* a bit a status; 0: any */
	bool        with_deleted;
	wall_us     created_from, created_to, updated_from, updated_to; /* from inclusive, to exclusive */
	struct span q;                                                  /* folded; size 0: none */
	bool        keep_updated;                                       /* the order needs them */
};

struct selection {
	bool           all;             /* every pass ever created; there are no bits */
	uint64_t      *bits;            /* in the view's arena */
	uint32_t       made;            /* numbers below this */
	uint64_t       total;           /* selected */
	const int64_t *updated;         /* times of update by number; NULL without keep_updated */
	const int64_t *oldest, *newest; /* bounds of `updated` for each word of bits */
};

static inline bool is_selected(const struct selection *selection, uint32_t number)
{
	return number < selection->made &&
	       (selection->all || selection->bits[number / 64] >> number % 64 & 1);
}

/* The bits of passes 64 * word to 64 * word + 63. */
static inline uint64_t selected_word(const struct selection *selection, uint32_t word)
{
	uint32_t left = selection->made - word * 64;
	if (!selection->all) return selection->bits[word];
	return left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
}

/* A selection with bits for numbers below `made`, none of them selected. Errors: ERR_NO_MEMORY. */
must_check enum err select_none(struct request *request, uint32_t made, struct selection *selection);

/* Does the filter exclude nothing, or only deleted passes? */
bool filter_is_plain(const struct pass_filter *filter);

/* The statuses that pass the filter: a bit for each value of a byte of STATUS (store/status.h). */
uint16_t filter_statuses(const struct pass_filter *filter);

/* The selection may point into `*columns`, which the caller gives back, error or not; NULL: none were needed. Errors: as
 * view.h. */
must_check enum err select_passes(struct request *request, const struct pass_filter *filter,
                                  struct columns **columns, struct selection *selection);
