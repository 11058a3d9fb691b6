/* Accounts that owe the writer time (debtors), and their waiting calls. There are few debtors, so lookup is linear. A debtor
 * that owes nothing and has no call waiting is dropped. */
#include "actors/shard/engine/turns.h"

#include <stdlib.h>

void turns_heard(struct turns *turns, struct account_id account, mono_us now)
{
	if (!account_same(turns->heard[0].account, account)) {
		turns->heard[1] = turns->heard[0];
		turns->heard[0].account = account;
	}
	turns->heard[0].at = now;
}

static bool is_alone(const struct turns *turns, struct account_id account, mono_us now)
{
	const struct heard *other = &turns->heard[account_same(turns->heard[0].account, account)];
	return now.v - other->at.v > TURN_OTHERS_US;
}

/* Debtors ------------------------------------------------------------------------------------------------- */

static struct debtor *find(struct turns *turns, struct account_id account)
{
	for (unsigned i = 0; i < turns->debtor_count; i++)
		if (account_same(turns->debtors[i].account, account)) return &turns->debtors[i];
	return NULL;
}

static bool is_free(const struct turns *turns, const struct debtor *debtor, mono_us now)
{
	return debtor->free_at.v <= now.v || is_alone(turns, debtor->account, now);
}

/* Copies a debtor; the tail pointer of an empty queue points into the debtor itself. */
static void move(struct debtor *to, const struct debtor *from)
{
	*to = *from;
	if (!to->first) to->last = &to->first;
}

static void forget_free(struct turns *turns, mono_us now)
{
	for (unsigned i = turns->debtor_count; i-- > 0;) {
		struct debtor *debtor = &turns->debtors[i];
		if (debtor->first || debtor->free_at.v > now.v) continue;
		move(debtor, &turns->debtors[--turns->debtor_count]);
	}
}

static struct debtor *add(struct turns *turns, struct account_id account, mono_us now)
{
	forget_free(turns, now);
	if (turns->debtor_count == DEBTORS_MAX) return NULL;
	struct debtor *debtor = &turns->debtors[turns->debtor_count++];
	*debtor = (struct debtor){.account = account, .free_at = now};
	debtor->last = &debtor->first;
	return debtor;
}

/* A disk that stalls once makes large commands costly, and no small one. */
dur_us turns_cost_of_bytes(size_t bytes, int64_t byte_ns)
{
	int64_t small = bytes < TURN_SMALL_BYTES ? (int64_t)bytes : TURN_SMALL_BYTES;
	int64_t twice = byte_ns * 2; /* into the journal, and later into the tables */
	if (twice < TURN_BYTE_NS) twice = TURN_BYTE_NS;
	if (twice > TURN_BYTE_NS_MAX) twice = TURN_BYTE_NS_MAX;
	return (dur_us){(small * TURN_BYTE_NS + ((int64_t)bytes - small) * twice) / 1000};
}

/* All debtors together get the share of time that a single one would have. */
void turns_charge(struct turns *turns, struct account_id account, dur_us cost, mono_us now)
{
	if (cost.v < TURN_HEAVY_US) return;
	struct debtor *debtor = find(turns, account);
	if (!debtor && !(debtor = add(turns, account, now))) return;
	if (debtor->free_at.v < now.v) debtor->free_at = now;
	debtor->free_at.v += cost.v * TURN_SHARE * turns->debtor_count;
	if (debtor->free_at.v > now.v + TURN_OWED_US) debtor->free_at.v = now.v + TURN_OWED_US;
}

/* Calls --------------------------------------------------------------------------------------------------- */

bool turns_defer(struct turns *turns, struct account_id account, mono_us now)
{
	struct debtor *debtor = turns->debtor_count ? find(turns, account) : NULL;
	return debtor && (debtor->first || !is_free(turns, debtor, now));
}

enum err turns_keep(struct turns *turns, const struct peer *peer, const struct call *call)
{
	struct debtor *debtor = find(turns, call->account);
	struct turn   *turn = calloc(1, sizeof *turn);
	must(debtor);
	if (!turn) return ERR_NO_MEMORY;
	enum err err = saved_call_make(&turn->kept, call);
	if (err) {
		turn_free(&turn);
		return err;
	}
	turn->peer = *peer;
	*debtor->last = turn;
	debtor->last = &turn->next;
	turns->count++;
	return OK;
}

struct turn *turns_take(struct turns *turns, mono_us now)
{
	for (unsigned i = 0; turns->count && i < turns->debtor_count; i++) {
		struct debtor *debtor = &turns->debtors[turns->at++ % turns->debtor_count];
		struct turn   *turn = debtor->first;
		if (!turn || !is_free(turns, debtor, now)) continue;
		if (!(debtor->first = turn->next)) debtor->last = &debtor->first;
		turns->count--;
		return turn;
	}
	return NULL;
}

dur_us turns_due(const struct turns *turns, mono_us now)
{
	int64_t due = INT64_MAX;
	for (unsigned i = 0; turns->count && i < turns->debtor_count; i++) {
		const struct debtor *debtor = &turns->debtors[i];
		if (!debtor->first) continue;
		int64_t wait = is_free(turns, debtor, now) ? 0 : debtor->free_at.v - now.v;
		if (wait < due) due = wait;
	}
	return (dur_us){due};
}

void turn_free(struct turn **turn_p)
{
	struct turn *turn = *turn_p;
	*turn_p = NULL;
	if (!turn) return;
	saved_call_free(&turn->kept);
	free(turn);
}

void turns_close(struct turns *turns)
{
	for (unsigned i = 0; i < turns->debtor_count; i++) {
		while (turns->debtors[i].first) {
			struct turn *turn = turns->debtors[i].first;
			turns->debtors[i].first = turn->next;
			turn_free(&turn);
		}
	}
	*turns = (struct turns){.count = 0};
}
