/* The list of parked creations. It is short (the issuer answers within milliseconds), so walks do; what is
 * long is only the wait when the issuer hangs, and then PARKED_MAX bounds it. */
#include "actors/shard/engine/parked.h"

#include "schemas/api/pass.h"

#include <stdlib.h>

void parking_open(struct parking *parking)
{
	*parking = (struct parking){.next_ask_id = 1};
	parking->last = &parking->first;
}

void parked_free(struct parked **parked_p)
{
	struct parked *parked = *parked_p;
	if (!parked) return;
	kept_call_free(&parked->kept);
	free(parked);
	*parked_p = NULL;
}

void parking_close(struct parking *parking)
{
	while (parking->first) {
		struct parked *parked = parking->first;
		parking->first = parked->next;
		parked_free(&parked);
	}
}

static struct span pass_id_of(const struct parked *parked)
{
	return arg_span(&parked->kept.call.args[ARG_PASS_CREATE_pass_id]);
}

static bool same_pass(const struct parked *a, const struct parked *b)
{
	return !memcmp(a->kept.call.account.b, b->kept.call.account.b, sizeof a->kept.call.account.b) &&
	       span_equal(pass_id_of(a), pass_id_of(b));
}

enum err parking_add(struct parking *parking, const struct peer *peer, const struct call *call, mono_us due,
                     struct parked **out)
{
	if (parking->count == PARKED_MAX) return ERR_OVERLOADED;
	struct parked *parked = calloc(1, sizeof *parked);
	if (!parked) return ERR_NO_MEMORY;
	enum err err = kept_call_make(&parked->kept, call);
	if (err) {
		parked_free(&parked);
		return err;
	}
	parked->peer = *peer;
	parked->due = due;
	parked->ask_id = parking->next_ask_id++;
	for (struct parked *other = parking->first; other; other = other->next)
		if (same_pass(other, parked)) parked->ask_id = 0;
	*parking->last = parked;
	parking->last = &parked->next;
	parking->count++;
	*out = parked;
	return OK;
}

static struct parked *take(struct parking *parking, struct parked **at)
{
	struct parked *parked = *at;
	*at = parked->next;
	if (!*at) parking->last = at;
	parked->next = NULL;
	parking->count--;
	return parked;
}

struct parked *parking_take(struct parking *parking, uint64_t ask_id)
{
	for (struct parked **at = &parking->first; *at; at = &(*at)->next)
		if (ask_id && (*at)->ask_id == ask_id) return take(parking, at);
	return NULL;
}

struct parked *parking_take_due(struct parking *parking, mono_us now)
{
	for (struct parked **at = &parking->first; *at && (*at)->due.v <= now.v; at = &(*at)->next)
		if ((*at)->ask_id) return take(parking, at);
	return NULL;
}

void parking_delay(struct parking *parking, dur_us by)
{
	for (struct parked *parked = parking->first; parked; parked = parked->next)
		parked->due = mono_after(parked->due, by);
}

struct parked *parking_take_behind(struct parking *parking, const struct parked *done)
{
	for (struct parked **at = &parking->first; *at; at = &(*at)->next)
		if ((*at)->ask_id == 0 && same_pass(*at, done)) return take(parking, at);
	return NULL;
}
