/* Searching texts, row by row in the order of numbers. */
#include "actors/shard/list/text_search.h"

#include "actors/rt/time.h"
#include "schemas/found.h"
#include "schemas/search.h"
#include "store/keys.h"
#include "store/text.h"

/* Rows that lie alone are looked up; of those that follow each other, what comes is asked for in time. */
static enum err read_row(struct text_search *search, uint32_t number, struct span *value)
{
	struct view    *view = search->request->view;
	struct row_key  key = key_u32(search->request->account->id, number);
	struct view_row row;
	enum err        err;
	bool            follows = search->has_read && search->at + 1 == number;
	if (!follows && search->has_read) {
		err = view_whole_from(view, search->table, key_span(&key), &search->room, &row);
		search->is_streaming = false;
	} else {
		if (!search->is_streaming) search->stream = stream_from(view, search->table, &key);
		search->is_streaming = true;
		err = stream_next_whole(&search->stream, &search->room, &row);
	}
	search->at = number;
	search->has_read = true;
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	*value = row.value;
	return span_equal(row.key, key_span(&key)) ? OK : ERR_DAMAGED;
}

static bool is_in_first_part(struct span text, const uint8_t *at)
{
	return !memchr(text.at, FOUND_SEPARATOR, (size_t)(at - text.at));
}

/* Those that hold q, a bit each, by all places where it is in the row. */
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

/* The same, one place after the other. It is sought in all of them at once: what reaches from one into the next is in
 * neither. */
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

/* The row's texts, from memory if they are known there, and noted there if not. */
static enum err get_texts(struct text_search *search, uint32_t row, bool is_known, struct text_row *texts)
{
	struct signs *signs = search->signs;
	struct span   value = is_known ? signs_copy(signs, row) : span_of(NULL, 0);
	enum err      err = value.size ? OK : read_row(search, row, &value);
	if (err || (err = text_row_read(value, texts)) || !signs) return err;
	if (!is_known) is_known = signs_note(signs, search->request->view, row, value);
	if (is_known && search->q.size >= SIGN_BYTES) signs_mark(signs, row, texts);
	return OK;
}

/* Of those of one row that are in `among`: which hold q. */
static enum err search_row(struct text_search *search, uint32_t row, uint32_t among, uint32_t *found)
{
	struct text_row texts;
	bool            is_known = search->signs && signs_stand(search->signs, search->request->view, row);
	*found = 0;
	if (is_known && !signs_have(search->signs, row, search->q)) return OK;
	enum err err = get_texts(search, row, is_known, &texts);
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

static enum err is_late(const struct text_search *search)
{
	return search->request->call->deadline.v <= time_mono().v ? ERR_OVERLOADED : OK;
}

static enum err search_all(struct text_search *search, const uint64_t *found, struct selection *selection)
{
	enum { ROWS_A_LOOK = 32 }; /* at the clock */
	selection->total = 0;
	for (uint32_t row = 0; row * (uint64_t)TEXT_PASSES < selection->made; row++) {
		unsigned shift = row % 2 * TEXT_PASSES;
		uint32_t wanted = (uint32_t)(selection->bits[row / 2] >> shift);
		uint32_t has = found ? wanted & (uint32_t)(found[row / 2] >> shift) : 0, more = 0;
		enum err err = wanted & ~has ? search_row(search, row, wanted & ~has, &more) : OK;
		if (!err && row % ROWS_A_LOOK == 0) err = is_late(search);
		if (err) return err;
		selection->bits[row / 2] &= ~((uint64_t)UINT32_MAX << shift);
		selection->bits[row / 2] |= (uint64_t)(has | more) << shift;
		selection->total += (unsigned)__builtin_popcount(has | more);
	}
	return OK;
}

enum err text_search(struct text_search *search, const uint64_t *found, struct selection *selection)
{
	struct request *request = search->request;
	uint32_t        rows = (selection->made + (uint32_t)TEXT_PASSES - 1) / TEXT_PASSES;
	enum err        err = OK;
	if (request->kept && rows >= SIGNS_ROWS_MIN) /* of little text nothing is kept */
		err = signs_take(request->kept, search->table, request->account->id, rows, &search->signs);
	if (!err || err == ERR_NO_MEMORY) err = search_all(search, found, selection);
	signs_give(request->kept, &search->signs);
	buffer_free(&search->room);
	return err;
}
