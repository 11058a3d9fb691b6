/* The order of times: random puts, moves and drops against a plain search. */
#include "actors/rt/agenda.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

enum { ENTRIES = 60, STEPS = 20000, TIMES = 8, RANKS = 8 };

static struct agenda       agenda;
static struct agenda_entry entries[ENTRIES];

static bool is_first(const struct agenda_entry *first)
{
	if (first && !first->place) return false;
	for (unsigned i = 0; i < ENTRIES; i++) {
		const struct agenda_entry *entry = &entries[i];
		if (!entry->place) continue;
		if (!first || entry->at < first->at) return false;
		if (entry->at == first->at && entry->then < first->then) return false;
	}
	return true;
}

Test(agenda, the_earliest_is_first_and_of_equal_times_the_lower_rank)
{
	uint64_t seed = chance_begin();
	cr_expect_null(agenda_first(&agenda));
	for (unsigned i = 0; i < STEPS; i++) {
		struct agenda_entry *entry = &entries[chance_below(&seed, ENTRIES)];
		if (chance_below(&seed, 3)) {
			entry->then = chance_below(&seed, RANKS);
			cr_assert_eq(agenda_put(&agenda, entry, chance_below(&seed, TIMES)), OK);
		} else {
			agenda_drop(&agenda, entry);
		}
		cr_assert(is_first(agenda_first(&agenda)));
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

Test(agenda, reserved_room_is_used)
{
	cr_assert_eq(agenda_reserve(&agenda, ENTRIES + 40), OK);
	cr_assert_geq(agenda.room, ENTRIES + 40);
	struct agenda_entry **heap = agenda.heap;
	for (unsigned i = 0; i < ENTRIES; i++)
		cr_assert_eq(agenda_put(&agenda, &entries[i], ENTRIES - i), OK);
	cr_expect_eq(agenda.heap, heap);
	cr_expect_eq(agenda_owner(agenda_first(&agenda), offsetof(struct agenda_entry, place)),
	             (char *)&entries[ENTRIES - 1] - offsetof(struct agenda_entry, place));
	agenda_free(&agenda);
	cr_expect_null(agenda_owner(agenda_first(&agenda), 8));
}
