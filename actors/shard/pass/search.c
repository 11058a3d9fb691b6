/* Searching. Texts of 32 passes lie in one row: if q is nowhere in it, that is all there is to do. Long texts have rows
 * of their own. A search ends when its caller has given it up, so that it holds nobody up for long. */
#include "actors/shard/pass/search.h"

#include "actors/rt/time.h"
#include "schemas/found.h"
#include "schemas/json.h"
#include "schemas/search.h"
#include "store/keys.h"
#include "store/text.h"

/* Counters ------------------------------------------------------------------------------------------------ */

static bool may_be_in_counter(struct span q)
{
	for (size_t i = 0; i < q.size; i++)
		if ((q.at[i] < '0' || q.at[i] > '9') && q.at[i] != '-') return false;
	return q.size > 0;
}

enum err counters_begin(struct request *request, struct span q, const struct tally *tally,
                        struct counters *counters)
{
	size_t bytes = (tally->made / 64 + 2) * sizeof *counters->found;
	counters->q = q;
	counters->found = NULL;
	counters->account = request->account;
	counters->text = (struct buffer){0};
	bool too_long = q.size > 1 && q.size > tally->width; /* 0 needs one */
	if (too_long || !may_be_in_counter(q)) return OK;
	if (!(counters->found = arena_take(view_arena(request->view), bytes))) return ERR_NO_MEMORY;
	memset(counters->found, 0, bytes);
	memset(counters->known, 0, sizeof counters->known);
	return OK;
}

void counters_end(struct counters *counters)
{
	buffer_free(&counters->text);
}

static bool holds_anew(struct counters *counters, int64_t balance)
{
	buffer_clear(&counters->text);
	json_number(balance, &counters->text);
	return span_holds(buffer_span(&counters->text), counters->q);
}

static bool holds(struct counters *counters, int64_t balance)
{
	if (balance < 0 || balance >= COUNTERS_KNOWN) return holds_anew(counters, balance);
	uint8_t *known = &counters->known[balance];
	if (!*known) *known = holds_anew(counters, balance) ? 2 : 1;
	return *known == 2;
}

uint64_t counters_hold(struct counters *counters, struct span row, uint64_t mask)
{
	const struct account *account = counters->account;
	uint64_t              found = 0;
	for (uint64_t left = mask; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left), template = hot_row_template(row, i);
		bool     has_counter = template >= 1 && template <= account->template_count &&
		                   account->templates[template - 1]->rules.counter;
		if (has_counter && holds(counters, hot_row_balance(row, i))) found |= UINT64_C(1) << i;
	}
	return found;
}

/* Texts --------------------------------------------------------------------------------------------------- */

struct search {
	struct request *request;
	struct span     q;
	bool            ids_only; /* and not in values */
	struct buffer   row_room, body_room, text;
	struct arena    arena; /* of one body */
	uint32_t        at;    /* the row read last; UINT32_MAX: none */
};

/* A text begins with its id. */
static bool text_holds(const struct search *search, struct span text)
{
	const uint8_t *end = search->ids_only && text.size ? memchr(text.at, FOUND_SEPARATOR, text.size)
	                                                   : NULL;
	if (end) text.size = (size_t)(end - text.at);
	return span_holds(text, search->q);
}

static enum err read_texts(struct search *search, uint32_t number, struct text_row *texts)
{
	struct view    *view = search->request->view;
	struct row_key  key = key_u32(search->request->account->id, number);
	struct view_row row;
	enum err        err = search->at + 1 == number && number
	                          ? view_whole_next(view, TABLE_TEXT, &search->row_room, &row)
	                          : view_whole_from(view, TABLE_TEXT, key_span(&key), &search->row_room, &row);
	search->at = number;
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return span_equal(row.key, key_span(&key)) ? text_row_read(row.value, texts) : ERR_DAMAGED;
}

static enum err is_in_body(struct search *search, const struct row_key *key, bool *found)
{
	struct view_row row;
	struct body     body;
	enum err err = view_whole_from(search->request->view, TABLE_BODY, key_span(key), &search->body_room,
	                               &row);
	if (!err && !span_equal(row.key, key_span(key))) err = ERR_DAMAGED;
	if (err || (err = body_open(row.value, &body))) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	buffer_clear(&search->text);
	err = found_text(&body, &search->arena, &search->text);
	arena_reset(&search->arena);
	*found = !err && text_holds(search, buffer_span(&search->text));
	return err;
}

/* A text of its own row, or of none. */
static enum err is_in_long_text(struct search *search, uint32_t number, bool *found)
{
	struct row_key  key = key_u32(search->request->account->id, number);
	struct view_row row;
	enum err        err = view_whole_from(search->request->view, TABLE_LONG_TEXT, key_span(&key),
	                                      &search->body_room, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err || !span_equal(row.key, key_span(&key))) return is_in_body(search, &key, found);
	*found = text_holds(search, row.value);
	return OK;
}

/* Of the 32 passes of one row, those of `among` that hold q. */
static enum err search_row(struct search *search, uint32_t row, uint32_t among, uint32_t *found)
{
	struct text_row texts;
	enum err        err = read_texts(search, row, &texts);
	*found = 0;
	if (err || (!texts.elsewhere && !span_holds(texts.all, search->q))) return err;
	for (; !err && among; among &= among - 1) {
		unsigned i = (unsigned)__builtin_ctz(among);
		bool     holds = text_holds(search, texts.of[i]);
		if (texts.elsewhere >> i & 1) err = is_in_long_text(search, row * TEXT_PASSES + i, &holds);
		if (holds) *found |= 1u << i;
	}
	return err;
}

static enum err is_late(const struct search *search)
{
	return search->request->call->deadline.v <= time_mono().v ? ERR_OVERLOADED : OK;
}

static enum err search_all(struct search *search, const uint64_t *found, struct selection *selection)
{
	selection->total = 0;
	for (uint32_t row = 0; row * (uint64_t)TEXT_PASSES < selection->made; row++) {
		unsigned shift = row % 2 * TEXT_PASSES;
		uint32_t wanted = (uint32_t)(selection->bits[row / 2] >> shift);
		uint32_t has = found ? wanted & (uint32_t)(found[row / 2] >> shift) : 0, more = 0;
		enum err err = wanted & ~has ? search_row(search, row, wanted & ~has, &more) : OK;
		if (err || (err = is_late(search))) return err;
		selection->bits[row / 2] &= ~((uint64_t)UINT32_MAX << shift);
		selection->bits[row / 2] |= (uint64_t)(has | more) << shift;
		selection->total += (unsigned)__builtin_popcount(has | more);
	}
	return OK;
}

static enum err run(struct search *search, const uint64_t *found, struct selection *selection)
{
	enum err err = search_all(search, found, selection);
	buffer_free(&search->row_room);
	buffer_free(&search->body_room);
	buffer_free(&search->text);
	arena_free(&search->arena);
	return err;
}

enum err search_texts(struct request *request, struct span q, const uint64_t *found,
                      struct selection *selection)
{
	struct search search = {.request = request, .q = q, .at = UINT32_MAX};
	return run(&search, found, selection);
}

enum err search_ids(struct request *request, struct span q, struct selection *selection)
{
	struct search search = {.request = request, .q = q, .at = UINT32_MAX, .ids_only = true};
	return run(&search, NULL, selection);
}
