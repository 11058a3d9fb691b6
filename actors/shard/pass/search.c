/* Searching. Texts of 32 passes lie in one row, and a row that does not contain q is done. Long texts have rows of their own.
 * A search ends early when its caller has given up, so that it does not delay others. */
#include "actors/shard/pass/search.h"
#include "actors/shard/list/text_search.h"

#include "schemas/digits.h"
#include "schemas/searchable.h"
#include "schemas/search.h"
#include "store/keys.h"
#include "store/text.h"

/* Counters ------------------------------------------------------------------------------------------------ */

bool counters_may_hold(struct span q, const struct tally *tally)
{
	bool too_long = q.size > 1 && q.size > tally->width; /* the width does not include a balance of 0 */
	return q.size && !too_long && digits_read(q).possible;
}

enum { COUNTERS_KNOWN = 1000 * 1000 };

struct counters {
	struct digits digits;
	uint32_t      templates;
	const bool   *counts;      /* templates + 1 of them, by number: has it a counter? */
	uint32_t      known_count; /* a power of ten, at most COUNTERS_KNOWN */
	uint8_t      *known;       /* for balances from 0 on: do they contain q? */
};

static enum err know_counters(struct request *request, uint32_t width, struct counters *counters)
{
	counters->known_count = 10;
	for (uint32_t i = 1; i < width && counters->known_count < COUNTERS_KNOWN; i++)
		counters->known_count *= 10;
	counters->known = arena_take(view_arena(request->view), counters->known_count);
	if (!counters->known) return ERR_NO_MEMORY;
	digits_table(&counters->digits, counters->known, counters->known_count);
	return OK;
}

enum { TEMPLATES_FEW = 16 };

/* Marks the templates that passes have. An account may have many templates without passes; they are not read. */
static void note_used(const struct columns *columns, uint32_t made, bool *used, uint32_t count)
{
	uint32_t last = 0;
	for (uint32_t i = 0; i < made; i++) {
		uint32_t number = columns->of.template[i];
		if (number == last) continue;
		last = number;
		if (number <= count) used[number] = true;
	}
}

/* counts[n]: do passes of template n have a counter? */
static enum err templates_begin(struct request *request, const struct columns *columns, uint32_t made,
                                struct counters *counters)
{
	const struct account *account = request->account;
	uint32_t              count = account->templates->count;
	bool                 *counts = arena_take(view_arena(request->view), count + 1);
	enum err              err = OK;
	if (!counts) return ERR_NO_MEMORY;
	memset(counts, count <= TEMPLATES_FEW, count + 1);
	if (count > TEMPLATES_FEW) note_used(columns, made, counts, count);
	counts[0] = false;
	for (uint32_t i = 1; !err && i <= count; i++) {
		const struct template *template;
		if (!counts[i]) continue;
		err = account_template(account, request->view, i, &template);
		counts[i] = !err && template->counter;
		if (err == ERR_NOT_FOUND) err = OK; /* it was deleted, and has no pass */
	}
	counters->templates = count;
	counters->counts = counts;
	return err;
}

static enum err counters_begin(struct request *request, struct span q, const struct columns *columns,
                               uint32_t made, struct counters *counters)
{
	struct tally tally;
	enum err     err = tally_get(request->view, request->account->id, &tally);
	if (err || (err = templates_begin(request, columns, made, counters))) return err;
	counters->digits = digits_read(q);
	return know_counters(request, tally.width, counters);
}

/* Removes digits at the end until the rest is in `known`. */
static bool large_holds(const struct counters *counters, int64_t balance)
{
	const struct digits *digits = &counters->digits;
	uint64_t             left = (uint64_t)balance;
	if (balance < 0 || digits->negative) return digits_are_in(digits, balance);
	for (; left >= counters->known_count; left /= 10)
		if (digits_end(digits, left)) return true;
	return counters->known[left];
}

static inline bool balance_holds(const struct counters *counters, int64_t balance)
{
	return (uint64_t)balance < counters->known_count ? counters->known[balance]
	                                                 : large_holds(counters, balance);
}

static inline bool template_counts(const struct counters *counters, unsigned number)
{
	return number <= counters->templates && counters->counts[number];
}

/* The passes of a word of 64 whose counter contains q. Usually all have the same template. */
static uint64_t all_that_hold(const struct counters *counters, const struct hot_columns *of)
{
	uint64_t found = 0;
	unsigned others = 0;
	for (unsigned i = 0; i < 64; i++)
		others |= (unsigned)of->template[i] ^ of->template[0];
	if (!others && !template_counts(counters, of->template[0])) return 0;
	for (unsigned i = 0; i < 64; i++)
		found |= (uint64_t)balance_holds(counters, of->balance[i]) << i;
	for (unsigned i = 0; i < 64 && others; i++)
		if (!template_counts(counters, of->template[i])) found &= ~(UINT64_C(1) << i);
	return found;
}

/* The same for the passes in `mask`. Usually it has all bits, and none has to be tested. */
static uint64_t counters_hold(const struct counters *counters, const struct hot_columns *of, uint64_t mask)
{
	uint64_t found = 0;
	if (mask == UINT64_MAX) return all_that_hold(counters, of);
	for (uint64_t left = mask; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		if (template_counts(counters, of->template[i]))
			found |= (uint64_t)balance_holds(counters, of->balance[i]) << i;
	}
	return found;
}

enum err counters_search(struct request *request, struct span q, const struct columns *columns,
                         const struct selection *selection, uint64_t **found)
{
	uint32_t        words = (selection->made + 63) / 64;
	struct counters counters;
	enum err        err = counters_begin(request, q, columns, selection->made, &counters);
	if (err) return err;
	if (!(*found = arena_take(view_arena(request->view), (words + 1) * sizeof **found)))
		return ERR_NO_MEMORY;
	for (uint32_t word = 0; word < words; word++) {
		size_t             first = (size_t)word * 64;
		struct hot_columns of = {.balance = columns->of.balance + first,
		                         .template = columns->of.template + first};
		(*found)[word] = counters_hold(&counters, &of, selection->bits[word]);
	}
	return OK;
}

/* Texts --------------------------------------------------------------------------------------------------- */

struct search {
	struct text_search texts; /* first: is_in_long_text() casts it back */
	struct buffer      room, text;
	struct arena       arena; /* of one body */
};

/* A text begins with its id. */
static bool text_holds(const struct text_search *texts, struct span text)
{
	const uint8_t *end = texts->is_first_part && text.size
	                         ? memchr(text.at, SEARCHABLE_SEPARATOR, text.size)
	                         : NULL;
	if (end) text.size = (size_t)(end - text.at);
	return span_holds(text, texts->q);
}

static enum err is_in_body(struct search *search, const struct row_key *key, bool *found)
{
	struct view    *view = search->texts.request->view;
	struct view_row row;
	struct body     body;
	enum err        err = view_parted_from(view, TABLE_BODY, key_span(key), &search->room, &row);
	if (!err && !span_equal(row.key, key_span(key))) err = ERR_DAMAGED;
	if (err || (err = body_open(row.value, &body))) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	buffer_clear(&search->text);
	err = searchable_text(&body, &search->arena, &search->text);
	arena_reset(&search->arena);
	*found = !err && text_holds(&search->texts, buffer_span(&search->text));
	return err;
}

/* A text that has its own row, or none: then it is computed from the body. */
static enum err is_in_long_text(struct text_search *texts, uint32_t number, bool *found)
{
	struct search  *search = (struct search *)texts;
	struct row_key  key = key_u32(texts->request->account->id, number);
	struct view_row row;
	enum err err = view_parted_from(texts->request->view, TABLE_LONG_TEXT, key_span(&key), &search->room,
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
	                                  .is_first_part = ids_only,
	                                  .holds_elsewhere = is_in_long_text}};
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
