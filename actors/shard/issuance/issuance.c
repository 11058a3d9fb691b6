/* Passes that are being issued, from their row in the table to its removal.
 *
 *   queue of its account ─▶ in hand ─▶ a fetch ─▶ in hand ─▶ … ─▶ its row is removed
 *
 * A pass is in exactly one place, named by `place`. It is in hand while it is examined: then it waits for the next missing
 * image, or is issued. An account is in the ring if its queue has a pass and it may start another fetch; settle() decides
 * this. */
#include "actors/shard/issuance/inside.h"

#include "store/issuing.h"

#include <stdio.h>
#include <stdlib.h>

/* Finding ------------------------------------------------------------------------------------------------- */

static struct creating_bucket *pass_bucket(struct issuance *issuance, struct account_id id, uint32_t number)
{
	return &issuance->passes[(issuing_mark(id) + number) % CREATING_BUCKETS];
}

struct creating *issuance_find(struct issuance *issuance, enum creating_kind kind, struct account_id id,
                               uint32_t number)
{
	struct creating *pass;
	LIST_FOREACH(pass, pass_bucket(issuance, id, number), in_bucket)
	{
		if (pass->number == number && pass->kind == kind && account_same(pass->account->id, id))
			return pass;
	}
	return NULL;
}

/* Passes -------------------------------------------------------------------------------------------------- */

static enum err add(struct issuance *issuance, enum creating_kind kind, struct account_id id, uint32_t number,
                    mono_us begun)
{
	if (issuance_find(issuance, kind, id, number)) return OK;
	struct issuing_account *account = issuing_account_of(issuance, id);
	struct creating        *pass = account ? calloc(1, sizeof *pass) : NULL;
	if (!pass) {
		if (account) issuance_settle(issuance, account);
		return ERR_NO_MEMORY;
	}
	pass->kind = kind;
	pass->account = account;
	pass->number = number;
	pass->begun = begun;
	account->pass_count++;
	issuance->pass_count += kind == CREATING_PASS;
	LIST_INSERT_HEAD(pass_bucket(issuance, id, number), pass, in_bucket);
	TAILQ_INSERT_TAIL(&account->line, pass, in_place);
	if ((pass->is_timed = begun.v != 0)) TAILQ_INSERT_TAIL(&issuance->timed, pass, by_begun);
	issuance_settle(issuance, account);
	return OK;
}

/* Takes it out of its place, into the hand. */
void issuance_take(struct issuance *issuance, struct creating *pass)
{
	struct fetch *fetch = pass->fetch;
	if (pass->place == CREATING_IN_LINE) TAILQ_REMOVE(&pass->account->line, pass, in_place);
	if (pass->place == CREATING_IN_REST) TAILQ_REMOVE(pass->rest, pass, in_place);
	if (pass->place == CREATING_IN_FETCH) TAILQ_REMOVE(&fetch->passes, pass, in_place);
	pass->place = CREATING_IN_HAND;
	pass->fetch = NULL;
	if (fetch) fetch_settle(issuance, fetch);
	issuance_settle(issuance, pass->account); /* it has a pass, and stays */
}

static void end_waits(struct issuance *issuance, struct creating *pass)
{
	while (pass->waits) {
		struct creation_wait *wait = pass->waits;
		pass->waits = wait->next;
		wait->next = NULL;
		*issuance->ended_last = wait;
		issuance->ended_last = &wait->next;
		pass->account->wait_count--;
		issuance->wait_count--;
	}
}

static void end_time(struct issuance *issuance, struct creating *pass)
{
	if (pass->is_timed) TAILQ_REMOVE(&issuance->timed, pass, by_begun);
	pass->is_timed = false;
	end_waits(issuance, pass);
}

void issuance_drop(struct issuance *issuance, struct creating *pass)
{
	struct issuing_account *account = pass->account;
	issuance_take(issuance, pass);
	end_time(issuance, pass);
	if (pass->is_tried) TAILQ_REMOVE(&issuance->tried, pass, by_try);
	LIST_REMOVE(pass, in_bucket);
	account->pass_count--;
	issuance->pass_count -= pass->kind == CREATING_PASS;
	free(pass);
	issuance_settle(issuance, account);
}

/* A template, or an issued pass, that changes may need another image: it starts again. */
static enum err on_row(struct issuance *issuance, const struct write *write, enum creating_kind kind,
                       mono_us now)
{
	struct account_id id;
	uint32_t          number;
	if (!issuing_key_read(write->key, &id, &number)) return OK;
	struct creating *pass = issuance_find(issuance, kind, id, number);
	if (pass && (write->kind != WRITE_PUT || kind != CREATING_PASS)) issuance_drop(issuance, pass);
	if (write->kind != WRITE_PUT) return OK;
	return add(issuance, kind, id, number, kind == CREATING_PASS ? now : (mono_us){0});
}

enum err issuance_on_writes(struct issuance *issuance, const struct writes *writes, mono_us now)
{
	enum err err = OK;
	for (unsigned i = 0; i < writes->count && !err; i++) {
		const struct write *write = &writes->rows[i];
		if (write->table == TABLE_ISSUING) err = on_row(issuance, write, CREATING_PASS, now);
		if (write->table == TABLE_TEMPLATE_IMAGES)
			err = on_row(issuance, write, CREATING_TEMPLATE, now);
		if (write->table == TABLE_PASS_PICTURES)
			err = on_row(issuance, write, CREATING_PICTURES, now);
	}
	return err;
}

/* Waits --------------------------------------------------------------------------------------------------- */

bool issuance_wait(struct issuance *issuance, const struct creation_wait *wait)
{
	struct creating *pass = issuance_find(issuance, CREATING_PASS, wait->account, wait->number);
	if (!pass || !pass->is_timed || issuance->wait_count >= CREATION_WAITS_MAX ||
	    pass->account->wait_count >= CREATION_WAITS_ACCOUNT_MAX)
		return false;
	struct creation_wait *kept = malloc(sizeof *kept);
	if (!kept) return false;
	*kept = *wait;
	kept->next = pass->waits;
	pass->waits = kept;
	pass->account->wait_count++;
	issuance->wait_count++;
	return true;
}

struct creation_wait *issuance_next_ended(struct issuance *issuance, mono_us now)
{
	struct creating *oldest = TAILQ_FIRST(&issuance->timed);
	for (; oldest && now.v - oldest->begun.v >= ISSUANCE_WAIT_MS * US_PER_MS;
	     oldest = TAILQ_FIRST(&issuance->timed))
		end_time(issuance, oldest);
	struct creation_wait *wait = issuance->ended;
	if (!wait) return NULL;
	if (!(issuance->ended = wait->next)) issuance->ended_last = &issuance->ended;
	return wait;
}

/* Turns --------------------------------------------------------------------------------------------------- */

static const char *say(struct issuance *issuance, const struct creating *pass, const struct fetch *fetch)
{
	snprintf(issuance->error, sizeof issuance->error, "%s: %.180s", pass->image, fetch->error);
	return issuance->error;
}

/* A pass whose time is over. */
static struct creating *next_overdue(struct issuance *issuance, mono_us now, const char **error)
{
	struct creating *pass = TAILQ_FIRST(&issuance->tried);
	if (!pass || now.v - pass->tried.v < ISSUANCE_TRY_MS * US_PER_MS) return NULL;
	*error = pass->fetch ? say(issuance, pass, pass->fetch) : "its images did not come in time";
	return pass;
}

static struct creating *next_fetched(struct issuance *issuance, const char **error)
{
	struct fetch *fetch = TAILQ_FIRST(&issuance->fetches[FETCH_ENDED]);
	if (!fetch) return NULL;
	struct creating *pass = TAILQ_FIRST(&fetch->passes);
	must(pass != NULL); /* otherwise it would have been freed */
	if (fetch->is_refused) *error = say(issuance, pass, fetch);
	return pass;
}

/* The first in the queue of the next account, which then goes to the end of the ring. */
static struct creating *next_in_ring(struct issuance *issuance)
{
	struct issuing_account *account = TAILQ_FIRST(&issuance->ring);
	if (!account) return NULL;
	TAILQ_REMOVE(&issuance->ring, account, in_ring);
	TAILQ_INSERT_TAIL(&issuance->ring, account, in_ring);
	return TAILQ_FIRST(&account->line);
}

static struct creating *next_rested(struct issuance *issuance, mono_us now)
{
	struct creating *earliest = NULL;
	for (unsigned i = 0; i < RESTS_MAX; i++) {
		struct creating *pass = TAILQ_FIRST(&issuance->resting[i].list);
		if (pass && (!earliest || pass->due.v < earliest->due.v)) earliest = pass;
	}
	return earliest && earliest->due.v <= now.v ? earliest : NULL;
}

/* All that rest equally long come in their order. */
static struct creating_list *list_of(struct issuance *issuance, dur_us rest)
{
	struct rest *found = NULL;
	for (unsigned i = 0; i < RESTS_MAX; i++) {
		struct rest *one = &issuance->resting[i];
		if (one->rest.v == rest.v) return &one->list;
		if (!found && TAILQ_EMPTY(&one->list)) found = one;
	}
	must(found != NULL);
	found->rest = rest;
	return &found->list;
}

void issuance_rest(struct issuance *issuance, struct creating *pass, dur_us rest, mono_us now)
{
	must(pass->place == CREATING_IN_HAND && pass->kind != CREATING_PASS);
	if (pass->is_tried) TAILQ_REMOVE(&issuance->tried, pass, by_try);
	pass->is_tried = false;
	pass->place = CREATING_IN_REST;
	pass->due = mono_after(now, rest);
	pass->rest = list_of(issuance, rest);
	TAILQ_INSERT_TAIL(pass->rest, pass, in_place);
}

struct creating *issuance_next(struct issuance *issuance, mono_us now, const char **error)
{
	*error = NULL;
	struct creating *pass = next_fetched(issuance, error); /* what has arrived is not too late */
	if (!pass) pass = next_overdue(issuance, now, error);
	issuance->is_turn_of_rested = !issuance->is_turn_of_rested;
	if (!pass && issuance->is_turn_of_rested) pass = next_rested(issuance, now);
	if (!pass) pass = next_in_ring(issuance);
	if (!pass) pass = next_rested(issuance, now);
	if (pass) issuance_take(issuance, pass);
	return pass;
}

void issuance_resume(struct issuance *issuance, mono_us now)
{
	struct creating *pass;
	TAILQ_FOREACH(pass, &issuance->tried, by_try)
	{
		pass->tried = now;
	}
}

void issuance_delay(struct issuance *issuance, dur_us by, mono_us now)
{
	struct creating *pass;
	TAILQ_FOREACH(pass, &issuance->tried, by_try)
	{
		pass->tried = mono_after(pass->tried, by);
		if (pass->tried.v > now.v) pass->tried = now;
	}
}

/* Load and free -------------------------------------------------------------------------------------------- */

static enum err load_table(struct issuance *issuance, struct view *view, enum table table,
                           enum creating_kind kind)
{
	static const uint8_t first[] = {0}; /* before every account's key */
	struct buffer        room = {0};
	struct view_row      row;
	enum err             err = view_parted_from(view, table, span_of(first, sizeof first), &room, &row);
	while (!err) {
		struct account_id id;
		uint32_t          number;
		err = issuing_key_read(row.key, &id, &number) ? OK : ERR_DAMAGED;
		if (!err) err = add(issuance, kind, id, number, (mono_us){0});
		if (!err) err = view_parted_next(view, table, &room, &row);
	}
	buffer_free(&room);
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err issuance_load(struct issuance *issuance, struct view *view, unsigned asked_max)
{
	TAILQ_INIT(&issuance->ring);
	TAILQ_INIT(&issuance->timed);
	TAILQ_INIT(&issuance->tried);
	for (int i = 0; i < RESTS_MAX; i++)
		TAILQ_INIT(&issuance->resting[i].list);
	TAILQ_INIT(&issuance->asking[false]);
	TAILQ_INIT(&issuance->asking[true]);
	issuance->asked_max = asked_max;
	for (int i = 0; i < FETCH_STATES; i++)
		TAILQ_INIT(&issuance->fetches[i]);
	issuance->ended_last = &issuance->ended;
	issuance->next_ask_id = 1;
	enum err err = load_table(issuance, view, TABLE_ISSUING, CREATING_PASS);
	if (!err) err = load_table(issuance, view, TABLE_TEMPLATE_IMAGES, CREATING_TEMPLATE);
	return err ? err : load_table(issuance, view, TABLE_PASS_PICTURES, CREATING_PICTURES);
}

static void free_ended(struct issuance *issuance)
{
	while (issuance->ended) {
		struct creation_wait *wait = issuance->ended;
		issuance->ended = wait->next;
		free(wait);
	}
}

/* A fetch is freed with the last pass that wants it, unless it was asked. */
void issuance_free(struct issuance *issuance)
{
	struct fetch *fetch;
	if (!issuance->ended_last) return; /* never loaded */
	for (unsigned i = 0; i < CREATING_BUCKETS; i++)
		while (!LIST_EMPTY(&issuance->passes[i]))
			issuance_drop(issuance, LIST_FIRST(&issuance->passes[i]));
	while ((fetch = TAILQ_FIRST(&issuance->fetches[FETCH_ASKED])))
		issuance_fetched(issuance, fetch->ask_id, OK, span_of(NULL, 0), (mono_us){0});
	free_ended(issuance);
}
