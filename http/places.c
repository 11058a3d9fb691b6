/* Places are given away in the order in which a connection is worth least to its client. An unfinished one has cost
 * nothing yet, and strangers can have as many as they like: it goes first. But then whoever comes while strangers hold all
 * places in other ways would be the only unfinished one, and go when the next one comes: so it has a moment before. */
#include "http/places.h"
#include "schemas/limits.h"

void places_open(struct places *places, unsigned max)
{
	*places = (struct places){.max = max};
	for (unsigned kind = 0; kind < PLACE_KINDS; kind++)
		h2o_linklist_init_anchor(&places->lines[kind]);
}

static void stand(struct places *places, struct place *place, enum place_kind kind, mono_us now)
{
	place->kind = kind;
	place->since = now;
	places->counts[kind]++;
	h2o_linklist_insert(&places->lines[kind], &place->link);
}

void place_take(struct places *places, struct place *place, enum place_kind kind, mono_us now)
{
	*place = (struct place){.leaves = false};
	places->taken++;
	stand(places, place, kind, now);
}

void place_turn(struct places *places, struct place *place, enum place_kind kind, mono_us now)
{
	if (place->leaves || place->kind == kind) return;
	h2o_linklist_unlink(&place->link);
	places->counts[place->kind]--;
	stand(places, place, kind, now);
}

void place_leave(struct places *places, struct place *place)
{
	if (place->leaves) return;
	h2o_linklist_unlink(&place->link);
	places->counts[place->kind]--;
	place->leaves = true;
}

void place_free(struct places *places, struct place *place)
{
	place_leave(places, place);
	places->taken--;
}

static unsigned stay(const struct places *places)
{
	unsigned sum = 0;
	for (unsigned kind = 0; kind < PLACE_KINDS; kind++)
		sum += places->counts[kind];
	return sum;
}

bool places_are_full(const struct places *places)
{
	return stay(places) >= places->max;
}

bool places_await_leavers(const struct places *places)
{
	return places->taken > stay(places);
}

static struct place *first_of(const struct places *places, enum place_kind kind)
{
	const h2o_linklist_t *line = &places->lines[kind];
	return line->next == line ? NULL : H2O_STRUCT_FROM_MEMBER(struct place, link, line->next);
}

struct place *places_first(const struct places *places, mono_us now)
{
	struct place *unfinished = first_of(places, PLACE_UNFINISHED);
	struct place *idle = first_of(places, PLACE_IDLE), *slow = first_of(places, PLACE_SLOW);
	bool          waited = unfinished && mono_since(now, unfinished->since).v >= NEWCOMER_MS * US_PER_MS;
	if (waited) return unfinished;
	if (idle) return idle;
	if (slow) return slow;
	return places->counts[PLACE_UNFINISHED] > stay(places) / 2 ? unfinished : NULL;
}
