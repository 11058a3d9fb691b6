#pragma once
#include "actors/shard/list/cache.h"
#include "actors/shard/pass/pass.h"
#include "store/tally.h"

/* Which passes of an account a list is about: a bit a pass, by number, and how many. Found by their statuses, of those that
 * are left by their updates, and with `q` by the counters and folded texts of those. */
struct pass_filter {
	unsigned    statuses; /* a bit a status; 0: any */
	bool        with_deleted;
	wall_us     created_from, created_to, updated_from, updated_to; /* from inclusive, to exclusive */
	struct span q;                                                  /* folded; size 0: none */
	bool        keep_updated;                                       /* the order needs them */
};

struct selection {
	bool           all;             /* every pass that was ever made: there are no bits */
	uint64_t      *bits;            /* in the view's arena */
	uint32_t       made;            /* numbers below this */
	uint64_t       total;           /* selected */
	const int64_t *updated;         /* by number, where the order asks for such a time */
	const int64_t *oldest, *newest; /* of each word of bits: none that is selected is outside */
};

static inline bool is_selected(const struct selection *selection, uint32_t number)
{
	return number < selection->made &&
	       (selection->all || selection->bits[number / 64] >> number % 64 & 1);
}

/* Of numbers 64 * word on. */
static inline uint64_t selected_word(const struct selection *selection, uint32_t word)
{
	uint32_t left = selection->made - word * 64;
	if (!selection->all) return selection->bits[word];
	return left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
}

/* Does the filter leave nothing out, or only deleted passes? */
bool filter_is_plain(const struct pass_filter *filter);

/* The statuses that it leaves in: a bit for each byte of STATUS (store/status.h). */
uint16_t filter_statuses(const struct pass_filter *filter);

/* What was selected may point into `*columns`, which are the caller's to give back, error or not; NULL: none were needed.
 * Errors: as view.h. */
must_check enum err select_passes(struct request *request, const struct pass_filter *filter,
                                  struct columns **columns, struct selection *selection);
