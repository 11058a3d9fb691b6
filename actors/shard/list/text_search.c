/* Searches texts, row by row in the order of numbers. */
#include "actors/shard/list/text_search.h"

#include "actors/rt/time.h"
#include "schemas/searchable.h"
#include "schemas/search.h"
#include "store/keys.h"
#include "store/text.h"

enum { WORD_ROWS = 64 / TEXT_PASSES }; /* of a word of the selection */

/* Reads a row: an isolated one by a lookup, consecutive ones from a stream that reads ahead. */
static enum err read_row(struct text_search *search, uint32_t number, struct span *value)
{
	struct view    *view = search->request->view;
	struct row_key  key = key_u32(search->request->account->id, number);
	struct view_row row;
	enum err        err;
	bool            follows = search->has_read && search->at + 1 == number;
	if (!follows && search->has_read) {
		err = view_parted_from(view, search->table, key_span(&key), &search->room, &row);
		search->is_streaming = false;
	} else {
		if (!search->is_streaming) search->stream = stream_from(view, search->table, &key);
		search->is_streaming = true;
		err = stream_next_parted(&search->stream, &search->room, &row);
	}
	search->at = number;
	search->has_read = true;
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	*value = row.value;
	return span_equal(row.key, key_span(&key)) ? OK : ERR_DAMAGED;
}

static bool is_in_first_part(struct span text, const uint8_t *at)
{
	return !memchr(text.at, SEARCHABLE_SEPARATOR, (size_t)(at - text.at));
}

/* Which texts contain q, a bit each, from all positions of q in the row. */
static uint32_t those_with_places(const struct text_row *texts, size_t q_size, const uint64_t *places)
{
	uint32_t found = 0;
	size_t   from = 0;
	for (unsigned i = 0; i < TEXT_PASSES; from += texts->of[i++].size) {
		size_t size = texts->of[i].size, begins = size < q_size ? 0 : size - q_size + 1;
		if (begins) found |= (uint32_t)places_have(places, from, begins) << i;
	}
	return found;
}

/* The same, one position after the other. q is sought in all texts at once; a match across two texts counts for neither. */
static uint32_t those_by_turns(const struct text_search *search, const struct text_row *texts)
{
	struct span left = texts->all, q = search->q;
	uint32_t    found = 0;
	unsigned    i = 0;
	for (size_t at; (at = span_find(left, q)) < left.size;) {
		const uint8_t *here = left.at + at, *end = texts->all.at + texts->all.size;
		while (texts->of[i].at + texts->of[i].size <= here)
			i++;
		const uint8_t *next = texts->of[i].at + texts->of[i].size;
		bool           reaches_out = here + q.size > next;
		if (!reaches_out && (!search->is_first_part || is_in_first_part(texts->of[i], here)))
			found |= 1u << i;
		left = span_of(next, (size_t)(end - next));
	}
	return found;
}

static uint32_t those_that_hold(const struct text_search *search, const struct text_row *texts)
{
	uint64_t places[PLACES_WORDS_MAX];
	bool     any;
	if (search->is_first_part || !span_places(texts->all, search->q, places, &any))
		return those_by_turns(search, texts);
	return any ? those_with_places(texts, search->q.size, places) : 0;
}

/* The row's texts, from memory if known there; otherwise they are read and stored there. */
static enum err get_texts(struct text_search *search, uint32_t row, struct text_row *texts)
{
	struct kept_texts *kept = search->kept;
	bool               is_known = kept && kept_look_has(search->look.known, row);
	struct span        value = is_known ? kept_texts_copy(kept, row) : span_of(NULL, 0);
	enum err           err = value.size ? OK : read_row(search, row, &value);
	if (err || (err = text_row_read(value, texts)) || !kept) return err;
	if (!is_known) is_known = kept_texts_note(kept, search->request->view, row, value);
	if (is_known && search->q.size >= TRIGRAM_BYTES) kept_texts_mark(kept, row, texts);
	return OK;
}

/* Which of the row's texts in `among` contain q. */
static enum err search_row(struct text_search *search, uint32_t row, uint32_t among, uint32_t *found)
{
	struct text_row texts;
	enum err        err = get_texts(search, row, &texts);
	if (err) return err;
	*found = those_that_hold(search, &texts) & among;
	for (uint32_t left = texts.elsewhere & among; left && !err; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		bool     holds = false;
		err = search->holds_elsewhere(search, row * TEXT_PASSES + i, &holds);
		if (holds) *found |= 1u << i;
	}
	return err;
}

static enum err is_late(struct text_search *search)
{
	enum { ROWS_A_LOOK = 32 }; /* rows between two looks at the clock */
	if (search->searched++ % ROWS_A_LOOK) return OK;
	return search->request->call->deadline.v <= time_mono().v ? ERR_OVERLOADED : OK;
}

/* The same for the two rows of a word of the selection; rows known not to contain q are skipped. */
static enum err search_word(struct text_search *search, uint32_t word, uint64_t among, uint64_t *found)
{
	enum err err = OK;
	for (uint32_t i = 0; i < WORD_ROWS && !err; i++) {
		uint32_t row = word * WORD_ROWS + i, of_row = (uint32_t)(among >> i * TEXT_PASSES), has = 0;
		if (!of_row || (search->kept && !kept_look_has(search->look.may, row))) continue;
		if (!(err = is_late(search))) err = search_row(search, row, of_row, &has);
		*found |= (uint64_t)has << i * TEXT_PASSES;
	}
	return err;
}

static uint64_t those_made(const struct selection *selection, uint32_t word)
{
	uint32_t left = selection->made - word * 64;
	return left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
}

static enum err search_all(struct text_search *search, const uint64_t *found, struct selection *selection)
{
	uint32_t words = selection->made / 64 + (selection->made % 64 != 0);
	selection->total = 0;
	for (uint32_t word = 0; word < words; word++) {
		if (search->kept && word % (TRIGRAM_ROWS / WORD_ROWS) == 0)
			kept_texts_look(search->kept, search->request->view, word * WORD_ROWS / TRIGRAM_ROWS,
			                search->q, &search->look);
		uint64_t wanted = selection->bits[word] & those_made(selection, word);
		uint64_t has = found ? wanted & found[word] : 0, more = 0;
		enum err err = wanted & ~has ? search_word(search, word, wanted & ~has, &more) : OK;
		if (err) return err;
		selection->bits[word] = has | more;
		selection->total += (unsigned)__builtin_popcountll(has | more);
	}
	return OK;
}

enum err text_search(struct text_search *search, const uint64_t *found, struct selection *selection)
{
	struct request *request = search->request;
	uint32_t        rows = (selection->made + (uint32_t)TEXT_PASSES - 1) / TEXT_PASSES;
	enum err        err = OK;
	if (request->kept && rows >= TEXTS_ROWS_MIN) /* little text is not cached */
		err = kept_texts_take(request->kept, search->table, request->account->id, rows,
		                      &search->kept);
	if (!err || err == ERR_NO_MEMORY) err = search_all(search, found, selection);
	kept_texts_give(request->kept, &search->kept);
	buffer_free(&search->room);
	return err;
}
