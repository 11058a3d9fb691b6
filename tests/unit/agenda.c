/* The order of times: random puts, moves and drops against a plain search. */
#include "actors/rt/agenda.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

enum { ENTRIES = 60, STEPS = 20000, TIMES = 40 };

static struct agenda       agenda;
static struct agenda_entry entries[ENTRIES];

static int64_t earliest(void)
{
	int64_t least = INT64_MAX;
	for (unsigned i = 0; i < ENTRIES; i++)
		if (entries[i].place && entries[i].at < least) least = entries[i].at;
	return least;
}

Test(agenda, the_earliest_is_first)
{
	uint64_t seed = chance_begin();
	cr_expect_null(agenda_first(&agenda));
	for (unsigned i = 0; i < STEPS; i++) {
		struct agenda_entry *entry = &entries[chance_below(&seed, ENTRIES)];
		if (chance_below(&seed, 3))
			cr_assert_eq(agenda_put(&agenda, entry, chance_below(&seed, TIMES)), OK);
		else
			agenda_drop(&agenda, entry);
		struct agenda_entry *first = agenda_first(&agenda);
		cr_assert_eq(first ? first->at : INT64_MAX, earliest());
	}
	agenda_free(&agenda);
	cr_expect_null(agenda_first(&agenda));
}

Test(agenda, a_dropped_entry_can_be_put_again)
{
	agenda_drop(&agenda, &entries[0]);
	cr_assert_eq(agenda_put(&agenda, &entries[0], 7), OK);
	agenda_drop(&agenda, &entries[0]);
	agenda_drop(&agenda, &entries[0]);
	cr_expect_null(agenda_first(&agenda));
	cr_assert_eq(agenda_put(&agenda, &entries[0], 8), OK);
	cr_expect_eq(agenda_first(&agenda), &entries[0]);
	agenda_free(&agenda);
}
