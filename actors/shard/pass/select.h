#pragma once
#include "actors/shard/pass/pass.h"
#include "store/tally.h"

/* Which passes of an account a list is about: a bit a pass, by number, and how many. Found by one sweep through their
 * statuses, or, where updates or counters matter, through the hot columns; and with `q` one through the folded texts of
 * those that are left. */
struct pass_filter {
	unsigned    statuses; /* a bit a status; 0: any */
	bool        with_deleted;
	wall_us     created_from, created_to, updated_from, updated_to; /* from inclusive, to exclusive */
	struct span q;                                                  /* folded; size 0: none */
	bool        keep_updated;                                       /* the order needs them */
};

struct selection {
	bool      all;            /* every pass that was ever made: there are no bits */
	uint64_t *bits;           /* in the view's arena */
	uint32_t  made;           /* numbers below this */
	uint64_t  total;          /* selected */
	int64_t  *updated;        /* by number, of those selected, where the order asks for such a time */
	int64_t   oldest, newest; /* no `updated` is outside */
};

static inline bool is_selected(const struct selection *selection, uint32_t number)
{
	return number < selection->made &&
	       (selection->all || selection->bits[number / 64] >> number % 64 & 1);
}

/* Does the filter leave nothing out, or only deleted passes? */
bool filter_is_plain(const struct pass_filter *filter);

/* What it asks of a row of the columns. */
struct hot_wanted filter_wanted(const struct pass_filter *filter);

/* Errors: as view.h. */
must_check enum err select_passes(struct request *request, const struct pass_filter *filter,
                                  const struct tally *tally, struct selection *selection);
