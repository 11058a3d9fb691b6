/* Searching. Texts of 32 passes lie in one row: if q is nowhere in it, that is all there is to do. Long texts have rows
 * of their own. A search ends when its caller has given it up, so that it holds nobody up for long. */
#include "actors/shard/pass/search.h"
#include "actors/shard/text_search.h"

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
	struct text_search texts;    /* first: what search of texts hands around leads back to this */
	bool               ids_only; /* and not in values */
	struct buffer      room, text;
	struct arena       arena; /* of one body */
};

/* A text begins with its id. */
static bool text_holds(const struct text_search *texts, struct span text)
{
	const struct search *search = (const struct search *)texts;
	const uint8_t       *end = search->ids_only && text.size ? memchr(text.at, FOUND_SEPARATOR, text.size)
	                                                         : NULL;
	if (end) text.size = (size_t)(end - text.at);
	return span_holds(text, texts->q);
}

static enum err is_in_body(struct search *search, const struct row_key *key, bool *found)
{
	struct view    *view = search->texts.request->view;
	struct view_row row;
	struct body     body;
	enum err        err = view_whole_from(view, TABLE_BODY, key_span(key), &search->room, &row);
	if (!err && !span_equal(row.key, key_span(key))) err = ERR_DAMAGED;
	if (err || (err = body_open(row.value, &body))) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	buffer_clear(&search->text);
	err = found_text(&body, &search->arena, &search->text);
	arena_reset(&search->arena);
	*found = !err && text_holds(&search->texts, buffer_span(&search->text));
	return err;
}

/* A text of its own row, or of none. */
static enum err is_in_long_text(struct text_search *texts, uint32_t number, bool *found)
{
	struct search  *search = (struct search *)texts;
	struct row_key  key = key_u32(texts->request->account->id, number);
	struct view_row row;
	enum err err = view_whole_from(texts->request->view, TABLE_LONG_TEXT, key_span(&key), &search->room,
	                               &row);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err || !span_equal(row.key, key_span(&key))) return is_in_body(search, &key, found);
	*found = text_holds(texts, row.value);
	return OK;
}

static enum err search_of(struct request *request, struct span q, bool ids_only, const uint64_t *found,
                          struct selection *selection)
{
	struct search search = {.texts = {.request = request,
	                                  .table = TABLE_TEXT,
	                                  .q = q,
	                                  .holds = text_holds,
	                                  .holds_elsewhere = is_in_long_text},
	                        .ids_only = ids_only};
	enum err      err = text_search(&search.texts, found, selection);
	buffer_free(&search.room);
	buffer_free(&search.text);
	arena_free(&search.arena);
	return err;
}

enum err search_texts(struct request *request, struct span q, const uint64_t *found,
                      struct selection *selection)
{
	return search_of(request, q, false, found, selection);
}

enum err search_ids(struct request *request, struct span q, struct selection *selection)
{
	return search_of(request, q, true, NULL, selection);
}
