/* Images that passes wait for: one fetch for each URL of an account, however many passes name it.
 *
 *   NEW      waits for its turn  ──▶ ASKED; HUNG if its host hung meanwhile
 *   AGAIN    likewise            ──▶ ASKED; HUNG likewise
 *   HUNG     likewise            ──▶ ASKED
 *   ASKED    sent to the timer   ──▶ ENDED; RESTING after a failure; NEW if the timer is gone
 *   RESTING  until a next try    ──▶ HUNG, AGAIN, or NEW if it was never tried
 *
 * A fetch on a host that hung begins as HUNG. Only fetch_move() writes a state after the first. All fetches stay equally long
 * in ASKED, and in RESTING, so their lists are in the order of their due times. */
#include "actors/shard/issuance/inside.h"

#include "schemas/crc32c.h"
#include "schemas/url.h"

#include <stdlib.h>

static const char never_tried[] = "it did not come in time";

static struct fetch_list *list_of(struct issuance *issuance, struct fetch *fetch)
{
	return fetch->state < FETCH_LINES ? &fetch->account->lines[fetch->state]
	                                  : &issuance->fetches[fetch->state];
}

/* Adds it to the list and counters of its state, or removes it. */
static void enter(struct issuance *issuance, struct fetch *fetch)
{
	struct issuing_account *account = fetch->account;
	const bool              is_asked = fetch->state == FETCH_ASKED;
	TAILQ_INSERT_TAIL(list_of(issuance, fetch), fetch, in_state);
	account->busy_count += is_asked || fetch->state == FETCH_NEW;
	account->asked_count += is_asked;
	account->asked_from[fetch->line] += is_asked;
	issuance->asked_count += is_asked;
	issuance->doubtful_count += is_asked && account->is_doubtful;
	if (is_asked && !issuance->first_young) issuance->first_young = fetch;
}

static void leave(struct issuance *issuance, struct fetch *fetch)
{
	struct issuing_account *account = fetch->account;
	const bool              is_asked = fetch->state == FETCH_ASKED;
	if (issuance->first_young == fetch) issuance->first_young = TAILQ_NEXT(fetch, in_state);
	TAILQ_REMOVE(list_of(issuance, fetch), fetch, in_state);
	account->busy_count -= is_asked || fetch->state == FETCH_NEW;
	account->asked_count -= is_asked;
	account->asked_from[fetch->line] -= is_asked;
	issuance->asked_count -= is_asked;
	issuance->doubtful_count -= is_asked && account->is_doubtful;
	account->slow_count -= fetch->is_slow;
	fetch->is_slow = false;
}

static void fetch_move(struct issuance *issuance, struct fetch *fetch, enum fetch_state state)
{
	leave(issuance, fetch);
	fetch->state = state;
	enter(issuance, fetch);
	fetch_settle_account(issuance, fetch->account);
	issuance_settle(issuance, fetch->account); /* it has a fetch, and stays */
}

void fetch_settle(struct issuance *issuance, struct fetch *fetch)
{
	struct issuing_account *account = fetch->account;
	if (fetch->state == FETCH_ASKED || !TAILQ_EMPTY(&fetch->passes)) return;
	leave(issuance, fetch);
	LIST_REMOVE(fetch, of_account);
	account->fetch_count--;
	free(fetch);
	fetch_settle_account(issuance, account);
	issuance_settle(issuance, account);
}

/* Turns ---------------------------------------------------------------------------------------------------- */

/* The first of a queue from which fewer than `most` are asked. */
static struct fetch *first_of(const struct issuing_account *account, enum fetch_state line, unsigned most)
{
	return account->asked_from[line] < most ? TAILQ_FIRST(&account->lines[line]) : NULL;
}

/* Retries go before new fetches, because their time runs, but leave half of the account's places to new ones. Fetches that may
 * hang get one place, or what is left of half of the places if there is nothing else. */
static struct fetch *next_of(const struct issuing_account *account)
{
	struct fetch *fetch;
	if (account->asked_count >= FETCHES_ACCOUNT_MAX) return NULL;
	if ((fetch = first_of(account, FETCH_AGAIN, FETCHES_AGAIN_MAX))) return fetch;
	if ((fetch = first_of(account, FETCH_HUNG, FETCHES_HUNG_MAX))) return fetch;
	if ((fetch = first_of(account, FETCH_NEW, FETCHES_ACCOUNT_MAX))) return fetch;
	return account->asked_count < FETCHES_AGAIN_MAX ? TAILQ_FIRST(&account->lines[FETCH_HUNG]) : NULL;
}

void fetch_settle_account(struct issuance *issuance, struct issuing_account *account)
{
	bool is_doubtful = account->slow_count || account->was_slow;
	bool is_ready = next_of(account) != NULL, stays = is_ready && is_doubtful == account->is_doubtful;
	if (account->is_in_asking && !stays)
		TAILQ_REMOVE(&issuance->asking[account->is_doubtful], account, in_asking);
	if (is_ready && !(account->is_in_asking && stays))
		TAILQ_INSERT_TAIL(&issuance->asking[is_doubtful], account, in_asking);
	account->is_in_asking = is_ready;
	if (account->is_doubtful == is_doubtful) return;
	account->is_doubtful = is_doubtful;
	if (is_doubtful)
		issuance->doubtful_count += account->asked_count;
	else
		issuance->doubtful_count -= account->asked_count;
}

static unsigned left_of(unsigned most, unsigned taken)
{
	return taken < most ? most - taken : 0;
}

/* Places left for accounts of this kind. */
static unsigned left_for(const struct issuance *issuance, bool is_doubtful)
{
	unsigned left = left_of(issuance->asked_max, issuance->asked_count);
	unsigned half = left_of((issuance->asked_max + 1) / 2, issuance->doubtful_count);
	return is_doubtful && half < left ? half : left;
}

/* No account has more places than it leaves free, and an unknown account only a fraction of them. So a place is left for the
 * next account, even if every account takes all it may. */
static bool may_have_more(const struct issuing_account *account, unsigned left)
{
	unsigned weight = account->is_known ? 1 : FETCHES_UNKNOWN_WEIGHT;
	return account->asked_count * weight < left;
}

/* An account that is skipped has at least one place, so few are skipped. Each kind comes first in turn. */
static struct issuing_account *next_account(const struct issuance *issuance)
{
	for (unsigned i = 0; i < 2; i++) {
		const bool              is_doubtful = (issuance->next_ask_id + i) % 2;
		const unsigned          left = left_for(issuance, is_doubtful);
		struct issuing_account *account;
		TAILQ_FOREACH(account, &issuance->asking[is_doubtful], in_asking)
		{
			if (may_have_more(account, left)) return account;
		}
	}
	return NULL;
}

_Static_assert((int)EGRESS_START_MS + EGRESS_IMAGE_MS < (int)FETCH_ANSWER_MS &&
                   (int)FETCH_ANSWER_MS + FETCH_REST_MS < (int)ISSUANCE_TRY_MS,
               "a fetch has its time, and one that was lost is repeated");

/* Marks fetches that were asked for long ago as slow. */
static void age(struct issuance *issuance, mono_us now)
{
	struct fetch *fetch;
	while ((fetch = issuance->first_young) &&
	       fetch->due.v - now.v < (FETCH_ANSWER_MS - EGRESS_SLOW_MS) * US_PER_MS) {
		issuance->first_young = TAILQ_NEXT(fetch, in_state);
		fetch->is_slow = true;
		fetch->account->slow_count++;
		fetch_settle_account(issuance, fetch->account);
	}
}

/* Hosts that hung ------------------------------------------------------------------------------------------ */

/* A checksum of host and port; never 0. Two hosts with the same one merely share a place in the queue. */
static uint32_t sum_of_host(struct span address)
{
	struct url url;
	if (url_read_image(address, &url)) return 1;
	uint32_t sum = crc32c(0, url.origin, strlen(url.origin));
	return sum ? sum : 1;
}

static uint32_t *find_hung(struct issuing_account *account, uint32_t host)
{
	for (unsigned i = 0; i < HOSTS_HUNG_MAX; i++)
		if (account->hung[i] == host) return &account->hung[i];
	return NULL;
}

/* Moves the host's fetches that are not asked yet to the HUNG queue. */
static void note_hung(struct issuance *issuance, struct issuing_account *account, uint32_t host)
{
	struct fetch *fetch, *next;
	account->hung[account->next_hung++ % HOSTS_HUNG_MAX] = host;
	for (enum fetch_state line = FETCH_NEW; line < FETCH_HUNG; line++)
		for (fetch = TAILQ_FIRST(&account->lines[line]); fetch; fetch = next) {
			next = TAILQ_NEXT(fetch, in_state);
			if (fetch->host == host) fetch_move(issuance, fetch, FETCH_HUNG);
		}
}

/* A fetch that was asked ends: notes what this shows about its host and account. */
static void note_speed(struct issuance *issuance, const struct fetch *fetch)
{
	struct issuing_account *account = fetch->account;
	uint32_t               *hung = find_hung(account, fetch->host);
	account->is_known = true;
	account->was_slow = fetch->is_slow;
	if (hung && !fetch->is_slow) *hung = 0;
	if (!hung && fetch->is_slow) note_hung(issuance, account, fetch->host);
}

/* New fetches ---------------------------------------------------------------------------------------------- */

static enum fetch_state line_for(const struct fetch *fetch)
{
	if (find_hung(fetch->account, fetch->host)) return FETCH_HUNG;
	return fetch->is_tried ? FETCH_AGAIN : FETCH_NEW;
}

/* An ended fetch is not shared: a later request may find another image. */
static struct fetch *find(struct issuing_account *account, struct span url)
{
	struct fetch *fetch;
	LIST_FOREACH(fetch, &account->fetches, of_account)
	{
		if (fetch->state != FETCH_ENDED && span_equal(span_of(fetch->url, fetch->url_size), url))
			return fetch;
	}
	return NULL;
}

static struct fetch *make(struct issuance *issuance, struct issuing_account *account, struct span url)
{
	struct fetch *fetch = calloc(1, sizeof *fetch + url.size);
	if (!fetch) return NULL;
	fetch->account = account;
	fetch->url_size = url.size;
	memcpy(fetch->url, url.at, url.size);
	memcpy(fetch->error, never_tried, sizeof never_tried);
	TAILQ_INIT(&fetch->passes);
	fetch->host = sum_of_host(url);
	fetch->state = line_for(fetch);
	LIST_INSERT_HEAD(&account->fetches, fetch, of_account);
	account->fetch_count++;
	enter(issuance, fetch);
	fetch_settle_account(issuance, account);
	return fetch;
}

/* Stops the pass's time limit: it waits for its turn. */
static void end_trying(struct issuance *issuance, struct creating *pass)
{
	if (pass->is_tried) TAILQ_REMOVE(&issuance->tried, pass, by_try);
	pass->is_tried = false;
}

/* Starts the pass's time limit, or starts it again. */
static void begin_trying(struct issuance *issuance, struct creating *pass, mono_us now)
{
	end_trying(issuance, pass);
	pass->is_tried = true;
	pass->tried = now;
	TAILQ_INSERT_TAIL(&issuance->tried, pass, by_try);
}

enum err issuance_want(struct issuance *issuance, struct creating *pass, const char *image, struct span url,
                       mono_us now)
{
	must(pass->place == CREATING_IN_HAND);
	struct fetch *fetch = find(pass->account, url);
	if (!fetch && !(fetch = make(issuance, pass->account, url))) return ERR_NO_MEMORY;
	pass->fetch = fetch;
	pass->image = image;
	pass->place = CREATING_IN_FETCH;
	TAILQ_INSERT_TAIL(&fetch->passes, pass, in_place);
	if (!fetch->is_tried)
		end_trying(issuance, pass);
	else if (!pass->is_tried)
		begin_trying(issuance, pass, now);
	issuance_settle(issuance, pass->account);
	return OK;
}

static void rest(struct issuance *issuance, struct fetch *fetch, mono_us now)
{
	fetch->due = mono_after(now, (dur_us){FETCH_REST_MS * US_PER_MS});
	fetch_move(issuance, fetch, FETCH_RESTING);
	fetch_settle(issuance, fetch);
}

static struct fetch *first_due(struct issuance *issuance, enum fetch_state state, mono_us now)
{
	struct fetch *fetch = TAILQ_FIRST(&issuance->fetches[state]);
	return fetch && fetch->due.v <= now.v ? fetch : NULL;
}

static void end_states(struct issuance *issuance, mono_us now)
{
	struct fetch *fetch;
	age(issuance, now);
	while ((fetch = first_due(issuance, FETCH_ASKED, now))) {
		note_speed(issuance, fetch);
		rest(issuance, fetch, now);
	}
	while ((fetch = first_due(issuance, FETCH_RESTING, now)))
		fetch_move(issuance, fetch, line_for(fetch));
}

struct fetch *issuance_next_fetch(struct issuance *issuance, mono_us now)
{
	end_states(issuance, now);
	struct issuing_account *account = next_account(issuance);
	if (!account) return NULL;
	struct fetch    *fetch = next_of(account);
	struct creating *pass;
	TAILQ_FOREACH(pass, &fetch->passes, in_place)
	{
		if (!pass->is_tried) begin_trying(issuance, pass, now);
	}
	fetch->is_tried = true;
	fetch->line = fetch->state;
	fetch->ask_id = issuance->next_ask_id++;
	fetch->due = mono_after(now, (dur_us){FETCH_ANSWER_MS * US_PER_MS});
	TAILQ_REMOVE(&issuance->asking[account->is_doubtful], account, in_asking);
	TAILQ_INSERT_TAIL(&issuance->asking[account->is_doubtful], account, in_asking);
	fetch_move(issuance, fetch, FETCH_ASKED);
	return fetch;
}

static struct fetch *find_asked(struct issuance *issuance, uint64_t ask_id)
{
	struct fetch *fetch;
	TAILQ_FOREACH(fetch, &issuance->fetches[FETCH_ASKED], in_state)
	{
		if (fetch->ask_id == ask_id) return fetch;
	}
	return NULL;
}

static void note_error(struct fetch *fetch, struct span text)
{
	size_t size = text.size < sizeof fetch->error ? text.size : sizeof fetch->error - 1;
	fetch->has_failed = true;
	if (size == 0) return;
	memcpy(fetch->error, text.at, size);
	fetch->error[size] = 0;
}

/* It could not be tried: there was no room, or its timer is gone. */
static void was_not_tried(struct issuance *issuance, struct fetch *fetch)
{
	struct creating *pass;
	TAILQ_FOREACH(pass, &fetch->passes, in_place)
	{
		end_trying(issuance, pass);
	}
	fetch->is_tried = false;
}

void issuance_fetched(struct issuance *issuance, uint64_t ask_id, enum err err, struct span text, mono_us now)
{
	struct fetch *fetch = find_asked(issuance, ask_id);
	if (!fetch) return; /* it was asked again, and will be answered again */
	bool not_tried = err == ERR_OVERLOADED;
	age(issuance, now);
	if (!not_tried) note_speed(issuance, fetch);
	if (not_tried && !fetch->has_failed) was_not_tried(issuance, fetch);
	if (err && !not_tried) note_error(fetch, text);
	fetch->is_refused = err == ERR_IMAGE_REFUSED;
	if (err && !fetch->is_refused) {
		rest(issuance, fetch, now);
		return;
	}
	fetch_move(issuance, fetch, FETCH_ENDED);
	fetch_settle(issuance, fetch);
}

void issuance_forget_asked(struct issuance *issuance)
{
	struct fetch *fetch;
	while ((fetch = TAILQ_FIRST(&issuance->fetches[FETCH_ASKED]))) {
		if (!fetch->has_failed) was_not_tried(issuance, fetch);
		fetch_move(issuance, fetch, FETCH_NEW);
		fetch_settle(issuance, fetch);
	}
}
